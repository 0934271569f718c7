"""tellers.py SEED_FROM COUNT: broken facts (within the class) of random programs, by who tells them (needs the traced build)."""
import subprocess,collections,sys,os,re
B="/work/wt/sizes/build/test_inference"
lo,count=int(sys.argv[1]),int(sys.argv[2]); DEPTH=int(os.environ.get("DEPTH","3"))
total=collections.Counter(); example={}
for seed in range(lo,lo+count):
    env=dict(os.environ,HEDDLE_TEST_SEED=str(seed),HEDDLE_TEST_COUNT="1",SHOW="1")
    out=subprocess.run([B,"--gtest_filter=RandomSizes*"],capture_output=True,text=True,env=env).stdout
    broken={l[7:].split("|")[0]:l for l in out.splitlines() if l.startswith("BROKEN ")}
    if not broken: continue
    pick=[f for f in broken if re.search(os.environ.get("KIND","=="),f)]
    if not pick: continue
    env["WHERE"]="\n".join(pick)
    err=subprocess.run(["setarch","-R",B,"--gtest_filter=RandomSizes*"],capture_output=True,text=True,env=env).stderr
    stacks=[];cur=None
    for line in err.splitlines():
        if line.startswith("FACT"): cur=[];stacks.append((line[5:],cur))
        elif line.startswith("AT") and cur is not None: cur.append(hex(int(line[3:],16)-0x555555554000))
    addrs=sorted({a for _,s in stacks for a in s})
    if not addrs: continue
    r=subprocess.run(["addr2line","-f","-C","-e",B,*addrs],capture_output=True,text=True).stdout.splitlines()
    names=dict(zip(addrs,[n.replace("(anonymous namespace)::","").split("(")[0][-50:] for n in r[::2]]))
    seen=set()
    for f,s in stacks:
        fr=[names[a] for a in s]
        fr=[x for x in fr if not any(k in x for k in ("RecordingFacts::tell","Size::is","Size::tell_value","Size::operator","equal_here","less_here","Size::equal","Size::less","operator==","Size::value","lesser","greater"))]
        k=" < ".join(fr[:DEPTH])
        if k in seen: continue
        seen.add(k); total[k]+=1; example.setdefault(k,broken.get(f,f))
for k,v in total.most_common(int(os.environ.get("N","30"))): print(v,k,"\n      ",example[k][:170])
