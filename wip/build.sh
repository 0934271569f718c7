[ $# = 0 ] && set -- heddle
cd /work/wt/sizes; ninja -j2 -k0 -C build $* > /tmp/sizes_build.log 2>&1; grep -E "error:" -A2 /tmp/sizes_build.log | grep -v "^--" | grep -v "candidate:\|In file included" | cut -c1-220 | head -150; date
