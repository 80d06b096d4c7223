/**
 * What Slurm runs for a kernel, in POSIX sh: `job.sh`, and beside the command `keeper.sh`. Both lie in the shared
 * directory, under the hash of their text, and are never changed in place, since running jobs read them.
 *
 *   job.sh <agent directory> <submitted at> one <kernel id> <assignment>
 *   job.sh <agent directory> <submitted at> array <file of lines "kernel-id assignment …">
 *   job.sh <agent directory> <submitted at> gang <the same>
 *
 * - `status` is created exclusively: whoever creates it, this job, another one for the same kernel, or the agent, decides
 *   whether the command ever runs. Every other copy ends at once, with success. In dash, `exec 9>status` under `set -C`
 *   ends the shell where it fails, hence the subshell.
 * - A copy of the job that has begun already, which is one that Slurm has started another time, leaves `again` behind.
 * - A removal deletes `spec.json` before `status`: who then can claim finds no `spec.json` and runs nothing. A later
 *   assignment of the kernel has a directory of its own and another `run.<assignment>`.
 * - The lease has to be young before the claim: the agent may have been away while the job waited. One that has waited
 *   for long also sees it renewed first, so that its age does not depend on the clocks of two machines.
 * - The command's process group exists only once its `setsid` has run: until then signals go to the process.
 * - A trapped signal makes `wait` return although the child lives on: it is waited for again.
 * - The script always ends with success. A process that is left when it ends halves Slurm's throughput, so it waits for
 *   the keeper that it has killed.
 */
export const JOB_SCRIPT = `umask 077
agent=$1 submitted=$2 want=''
case $3 in
  one) id=$4 assignment=$5 ;;
  array) want=$((SLURM_ARRAY_TASK_ID + 1)) ;;
  gang) want=$((SLURM_PROCID + 1)) ;;
esac
if [ -n "$want" ]; then
  line=0
  while read -r id assignment rest; do
    line=$((line + 1))
    [ "$line" -eq "$want" ] && break
  done <"$4"
  [ "$line" -eq "$want" ] || exit 0
fi
cd "$agent/kernels/$id" 2>/dev/null || exit 0
[ -e "run.$assignment" ] || exit 0
read -r counter written ttl <"$agent/lease" || exit 0
now=$(date +%s)
[ $((now - written)) -lt $((ttl / 2)) ] || exit 0
if [ $((now - submitted)) -gt $((ttl / 2)) ]; then
  seen=$counter tries=0
  while [ "$counter" = "$seen" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 12 ] || exit 0
    sleep 1
    read -r counter written ttl <"$agent/lease" || exit 0
  done
fi
copy=''
for place in /dev/shm "\${TMPDIR:-/tmp}"; do
  (set -C; : >"$place/reprise-$SLURM_JOB_ID-$id") 2>/dev/null && copy=$place/reprise-$SLURM_JOB_ID-$id && break
done
if [ -z "$copy" ]; then
  echo 'the node has no place for temporary files' >&2
  exit 0
fi
if ! (set -C; : >status) 2>/dev/null; then
  rm -f "$copy"
  read -r word first rest <status && [ "$word $first" = "began $SLURM_JOB_ID" ] && : >again
  exit 0
fi
exec 9>>status
child='' signalled=''
caught() {
  [ -n "$signalled" ] || echo signalled >&9
  signalled=yes
  [ -z "$child" ] || pass
}
pass() { kill -TERM -"$child" 2>/dev/null || kill -TERM "$child" 2>/dev/null; }
trap caught TERM
trap : HUP INT QUIT USR1 USR2
[ -e spec.json ] || { rm -f "$copy"; exit 0; }
[ -e stop ] && { rm -f "$copy"; echo never >&9; exit 0; }
echo "began $SLURM_JOB_ID $SLURMD_NODENAME" >&9
setsid env -i SLURM_JOB_ID="$SLURM_JOB_ID" SLURM_JOB_NODELIST="$SLURM_JOB_NODELIST" \\
  \${CUDA_VISIBLE_DEVICES+CUDA_VISIBLE_DEVICES="$CUDA_VISIBLE_DEVICES"} \\
  \${GPU_DEVICE_ORDINAL+GPU_DEVICE_ORDINAL="$GPU_DEVICE_ORDINAL"} \\
  \${ROCR_VISIBLE_DEVICES+ROCR_VISIBLE_DEVICES="$ROCR_VISIBLE_DEVICES"} \\
  /bin/sh "./run.$assignment" >>stdout 2>>stderr </dev/null 9>&- &
child=$!
setsid /bin/sh "\${0%/*}/keeper.sh" "$agent/lease" "$PWD" "$child" "$copy" "$counter" "$written" "$ttl" \\
  </dev/null >/dev/null 2>&1 9>&- &
keeper=$!
[ -z "$signalled" ] || pass
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || break
done
kill -KILL -"$child" 2>/dev/null
echo "exit $code" >&9
kill -KILL -"$keeper" 2>/dev/null
wait "$keeper" 2>/dev/null
rm -f "$copy"
exit 0
`

/**
 * Ends the command where the agent's lease has run out, and carries out a stop where Slurm's controller is down.
 *
 *   keeper.sh <lease> <kernel's directory> <process group> <copy> <counter> <written> <ttl>
 *
 * - Age is measured by the node's own uptime since a renewal was seen; the clocks of two machines are compared only to
 *   shorten it, never to lengthen it.
 * - A shared directory that hangs must not stop it. Only the reader looks there; the loop has the reader's copy, on a
 *   file system of the node, and counts a line once its newline is there.
 * - \`ending fence\` stands in \`status\` before the first signal, unless the directory hangs; \`killed fence\` when
 *   nothing of the process group is left.
 */
export const KEEPER_SCRIPT = `trap '' HUP INT QUIT TERM USR1 USR2
lease=$1 kernel=$2 group=$3 copy=$4 last=$5 written=$6 ttl=$7
cd /
(
  while :; do
    counter='' stop='' text='' signalled=no
    read -r counter renewed lasts <"$lease"
    if [ -e "$kernel/stop" ]; then
      read -r text <"$kernel/stop"
      stop=\${text#*'"killAt":'}
      stop=\${stop%%[!0-9]*}
      while read -r word rest; do
        [ "$word" = signalled ] && signalled=yes
      done <"$kernel/status"
    fi
    echo "\${counter:-?} \${renewed:-0} \${lasts:-0} \${stop:--} $signalled" >"$copy"
    sleep 2
  done
) &
renew() {
  read -r up rest </proc/uptime
  age=$(($(date +%s) - written))
  [ "$age" -gt 0 ] || age=0
  [ "$age" -le "$ttl" ] || age=$ttl
  seen=$((\${up%.*} - age))
}
renew
finish() {
  kill -KILL -"$group"
  while kill -0 -"$group"; do sleep 1; done
  [ -z "$1" ] || echo "killed $1" >>"$kernel/status" &
  sleep 5
  rm -f "$copy"
  kill -KILL 0
}
told=no
while kill -0 "$group" || kill -0 -"$group"; do
  if read -r counter renewed lasts stop signalled <"$copy" && [ -n "$signalled" ]; then
    if [ "$counter" != "$last" ] && [ "$counter" != '?' ]; then
      last=$counter written=$renewed ttl=$lasts
      renew
    fi
    if [ "$stop" != - ]; then
      [ "$told$signalled" = nono ] && kill -TERM -"$group"
      told=yes
      [ "$(date +%s)" -le "\${stop%???}" ] || finish ''
    fi
  fi
  read -r up rest </proc/uptime
  if [ $((\${up%.*} - seen)) -ge "$ttl" ]; then
    echo 'ending fence' >>"$kernel/status" &
    sleep 1
    kill -TERM -"$group"
    sleep 4
    finish fence
  fi
  sleep 2
done
rm -f "$copy"
kill -KILL 0
`
