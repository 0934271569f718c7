import subprocess,collections,sys,os
env=dict(os.environ,WHERE=sys.argv[1])
out=subprocess.run([*(sys.argv[2:] if sys.argv[2].startswith("/") else ["/tmp/facts_tool",*sys.argv[2:]])],capture_output=True,text=True,env=env).stderr
stacks=[];cur=None
for line in out.splitlines():
    if line.startswith("FACT"): cur=[];stacks.append(cur)
    elif line.startswith("AT") and cur is not None: cur.append(line[3:])
addrs=sorted({a for s in stacks for a in s})
names={}
r=subprocess.run(["addr2line","-f","-C","-e",sys.argv[2] if sys.argv[2].startswith("/") else "/tmp/facts_tool",*addrs],capture_output=True,text=True).stdout.splitlines()
for a,n in zip(addrs,r[::2]): names[a]=n.split("(")[0][-60:]
c=collections.Counter()
for s in stacks:
    f=[names[a] for a in s]
    f=[x for x in f if x and not any(k in x for k in ("RecordingFacts::tell","Size::is","Size::tell_value","Size::operator","equal_here","less_here","Size::equal","Size::less","operator=="))]
    c[" < ".join(f[:int(os.environ.get("DEPTH","3"))])]+=1
for k,v in c.most_common(60): print(v,k)
