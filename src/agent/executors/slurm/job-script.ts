import { quote } from '../process/shell.ts'
import { COUNT_DEVICES_FUNCTION, DEVICE_USE_FILE } from './gpu-scripts.ts'

/**
 * Functions for the processes that have left the kernel's process group: they have the kernel's id in their
 * environment. `to_others SIGNAL GROUP` signals those that are not in the group.
 */
const OTHERS_FUNCTIONS = `others() { grep -lsxz "REPRISE_KERNEL_ID=$id" /proc/[0-9]*/environ; }
to_others() {
  name=$1 group=$2
  for each in $(others); do
    each=\${each#/proc/} each=\${each%/environ}
    read -r stat <"/proc/$each/stat" && set -- \${stat##*) } && [ "$3" != "$group" ] && kill "-$name" "$each"
  done 2>/dev/null
}
`

/**
 * Ends the command when the agent's lease has expired, and carries out a stop when Slurm's controller is down.
 *
 *   keeper <lease> <kernel's directory> <process group> <copy> <counter> <uptime when seen> <ttl> <status>
 *
 * - The lease's age is measured by the node's own uptime since the keeper saw its renewal. The clocks of two machines
 *   are compared only to shorten it, never to lengthen it.
 * - A shared directory that hangs must not block the keeper. Only the reader accesses it. The loop uses the reader's
 *   copy on a file system of the node, and counts a line once its newline is written. If there can be no copy, the
 *   lease that the job began with is the last.
 * - The copy exists already, or is empty. Its name is on the command line, which other users of the node can read.
 * - What the job's GPUs do is counted beside the loop, because their tool may hang.
 * - It works until no process of the kernel is left: neither the process group, nor any other process with the
 *   kernel's id in its environment.
 * - `ending fence` and `stopping` are written to `status` before the first signal, unless the directory hangs.
 *   `killed fence` is written when no process of the kernel is left.
 */
export const KEEPER_SCRIPT = `lease=$1 kernel=$2 group=$3 copy=$4 last=$5 seen=$6 ttl=$7 status=$8 id=\${2##*/}
cd /
${OTHERS_FUNCTIONS}left() { kill -0 "$group" || kill -0 -"$group" || [ -n "$(others)" ]; }
digits() {
  case $1 in '' | *[!0-9]*) return 1 ;; esac
}
[ -z "$copy" ] || while :; do
  counter='' stop='' text='' signalled=no
  read -r counter renewed lasts <"$lease"
  if [ -e "$kernel/stop" ]; then
    read -r text <"$kernel/stop"
    stop=\${text#*'"killAt":'}
    stop=\${stop%%[!0-9]*}
    while read -r word rest; do
      [ "$word" = signalled ] && signalled=yes
    done <"$status"
  fi
  echo "\${counter:-?} \${renewed:-0} \${lasts:-0} \${stop:--} $signalled" >"$copy"
  sleep 2
done &
${COUNT_DEVICES_FUNCTION}case \${CUDA_VISIBLE_DEVICES-} in '' | NoDevFiles | -1) ;; *) count_devices "\${status%/*}/${DEVICE_USE_FILE}" 2>/dev/null </dev/null & ;; esac
renew() {
  read -r up rest </proc/uptime
  age=$(($(date +%s) - written))
  [ "$age" -gt 0 ] || age=0
  [ "$age" -le "$ttl" ] || age=$ttl
  seen=$((\${up%.*} - age))
}
finish() {
  while kill -KILL -"$group"; to_others KILL "$group"; kill -0 -"$group" || [ -n "$(others)" ]; do sleep 1; done
  [ -z "$1" ] || echo "killed $1" >>"$status" &
  sleep 5
  rm -f "$copy"
  kill -KILL 0
}
told=no
sleep 1
while left; do
  if [ -n "$copy" ] && read -r counter renewed lasts stop signalled <"$copy" && [ -n "$signalled" ]; then
    if [ "$counter" != "$last" ] && [ "$counter" != '?' ] && digits "$renewed" && digits "$lasts"; then
      last=$counter written=$renewed ttl=$lasts
      renew
    fi
    if digits "$stop"; then
      [ "$told$signalled" = nono ] && {
        echo stopping >>"$status" &
        sleep 1
        kill -TERM -"$group"
        to_others TERM "$group"
      }
      told=yes
      [ "$(date +%s)" -le "\${stop%???}" ] || finish ''
    fi
  fi
  read -r up rest </proc/uptime
  if [ $((\${up%.*} - seen)) -ge "$ttl" ]; then
    echo 'ending fence' >>"$status" &
    sleep 1
    kill -TERM -"$group"
    to_others TERM "$group"
    sleep 4
    finish fence
  fi
  sleep 2
done
rm -f "$copy"
kill -KILL 0
`

/**
 * The script that Slurm runs for a kernel, in POSIX sh. It is stored in the shared directory under the hash of its
 * text, and is never changed in place, since running jobs read it.
 *
 *   job.sh <agent directory> <submitted at> one <kernel id> <assignment>
 *   job.sh <agent directory> <submitted at> gang <file of lines "kernel-id assignment …">
 *
 * Batch scripts read it into their own shell; tasks of a gang run it.
 *
 * - If a kernel's job belongs to another user, everything that the job writes is in a directory `job` of that user.
 *   The kernel's own directory, with `spec.json`, `run.<assignment>` and `stop`, belongs to the agent.
 * - `status` is created exclusively. Its creator, which is this job, another one for the same kernel, or the agent,
 *   decides whether the command ever runs. Every other copy ends at once, with success. If a redirection fails, `exec`
 *   and `:` end the shell, while `true` does not.
 * - A job that has already begun and that Slurm has started another time leaves `again` behind.
 * - A removal deletes `spec.json` before `status`: a job that can claim after that finds no `spec.json` and runs
 *   nothing. A later assignment of the kernel has a new directory and another `run.<assignment>`.
 * - The lease must be young before the claim, because the agent may have been down while the job waited. A job that
 *   has waited for long also waits for a renewal, so that the age does not depend on the clocks of two machines.
 * - The command's process group exists only once its `setsid` has run. Until then signals go to the process.
 * - A stop asks every process of the kernel to end, and the script waits for those that are left when the command has
 *   ended. When the grace period is over, the keeper kills them.
 * - A trapped signal makes `wait` return, with a special status, whether or not the child still lives. So the script
 *   waits again. A shell that has already reported the child's status may no longer know it (127).
 * - Everything in arithmetic must be digits: bash evaluates a text there, and runs the commands in it.
 * - `oom` means that the memory limit has killed a process. The job reads this from its own cgroup, if Slurm has created
 *   one for it: Slurm's row comes later, and a job that exits with 0 does not wait for it.
 * - `ran` has the node's uptime when the command began and ended. The agent compares it with the time limit.
 * - `gpu_path` leads `run.<assignment>` to the tool that lists GPUs.
 * - `began_at` gives `run.<assignment>` the time that it tells its program, without another process.
 * - The script always ends with success. If a process is left when it ends, even a dying one, the job keeps its place
 *   in Slurm for another second. So the script waits for the keeper that it has ended.
 * - The keeper gets its whole text from here, because the directory may hang when it begins. In its first second it
 *   has neither its own group nor anything to do, as most short jobs have ended by then. SIGALRM ends it in that
 *   second, together with its `sleep`. Later no process catches that signal.
 * - The keeper's copy of the lease is a file that only the job's user can access. Nobody can know its name before it
 *   exists, or replace it in its directory: jobs of other users may run on the same node.
 * - Each process that it starts takes about a millisecond of CPU time, which limits the rate of short jobs. Hence
 *   builtins wherever possible: in bash also for the time. dash reads a file byte by byte.
 */
export const JOB_SCRIPT = `umask 077
agent=$1 submitted=$2 id=$4 assignment=$5
if [ "$3" = gang ]; then
  line=0 want=$((SLURM_PROCID + 1))
  while read -r id assignment rest; do
    line=$((line + 1))
    [ "$line" -eq "$want" ] && break
  done <"$4"
  [ "$line" -eq "$want" ] || exit 0
fi
cd "$agent/kernels/$id" 2>/dev/null || exit 0
kernel=$PWD
cd job 2>/dev/null
[ -e "$kernel/run.$assignment" ] || exit 0
digits() {
  case $1 in '' | *[!0-9]*) return 1 ;; esac
}
read_lease() {
  read -r counter written ttl <"$agent/lease" && digits "$written" && digits "$ttl"
}
digits "$submitted" && read_lease || exit 0
now=\${EPOCHSECONDS:-$(date +%s)}
[ $((now - written)) -lt $((ttl / 2)) ] || exit 0
if [ $((now - submitted)) -gt $((ttl / 2)) ]; then
  seen=$counter tries=0
  while [ "$counter" = "$seen" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 12 ] || exit 0
    sleep 1
    read_lease || exit 0
  done
  now=\${EPOCHSECONDS:-$(date +%s)}
fi
if ! [ -w /dev/shm ] && ! [ -w "\${TMPDIR:-/tmp}" ]; then
  echo 'the node has no place for temporary files' >&2
  exit 0
fi
set -C
if ! { true >status; } 2>/dev/null; then
  set +C
  read -r word first rest <status && [ "$word $first" = "began $SLURM_JOB_ID" ] && : >again
  exit 0
fi
set +C
exec 9>>status
child='' signalled=''
caught() {
  interrupted=yes
  [ -n "$signalled" ] || echo signalled >&9
  signalled=yes
  [ -z "$child" ] || pass
}
${OTHERS_FUNCTIONS}pass() {
  kill -TERM -"$child" 2>/dev/null || kill -TERM "$child" 2>/dev/null
  to_others TERM "$child"
}
trap caught TERM
trap interrupted=yes HUP INT QUIT USR1 USR2
[ -e "$kernel/spec.json" ] || exit 0
[ -e "$kernel/stop" ] && { echo never >&9; exit 0; }
echo "began $SLURM_JOB_ID $SLURMD_NODENAME" >&9 || exit 0
read -r began rest </proc/uptime
setsid env -i began_at="$now" SLURM_JOB_ID="$SLURM_JOB_ID" SLURM_JOB_NODELIST="$SLURM_JOB_NODELIST" \\
  \${CUDA_VISIBLE_DEVICES+CUDA_VISIBLE_DEVICES="$CUDA_VISIBLE_DEVICES"} \\
  \${GPU_DEVICE_ORDINAL+GPU_DEVICE_ORDINAL="$GPU_DEVICE_ORDINAL"} \\
  \${ROCR_VISIBLE_DEVICES+ROCR_VISIBLE_DEVICES="$ROCR_VISIBLE_DEVICES"} \\
  \${CUDA_VISIBLE_DEVICES+gpu_path="$PATH"} \\
  /bin/sh "$kernel/run.$assignment" >>stdout 2>>stderr </dev/null 9>&- &
child=$!
read -r up rest </proc/uptime
age=$((now - written))
[ "$age" -gt 0 ] || age=0
read -r random </proc/sys/kernel/random/uuid
copy=\${random:+reprise-$random}
(
  trap '' HUP INT QUIT TERM USR1 USR2
  status=$PWD/status over='' timer=''
  trap 'over=yes; kill -KILL $timer' ALRM
  cd /
  sleep 1 &
  timer=$!
  [ -z "$over" ] || kill -KILL "$timer"
  wait "$timer"
  [ -z "$over" ] || { wait "$timer"; exit 0; }
  trap - ALRM
  made=''
  set -C
  [ -z "$copy" ] || for place in /dev/shm "\${TMPDIR:-/tmp}"; do
    [ -k "$place" ] || [ -O "$place" ] || continue
    true >"$place/$copy" && [ -f "$place/$copy" ] && [ -O "$place/$copy" ] && made=$place/$copy && break
  done
  exec setsid /bin/sh -c ${quote(KEEPER_SCRIPT)} reprise-keeper "$agent/lease" "$kernel" "$child" "$made" "$counter" \\
    $((\${up%.*} - age)) "$ttl" "$status"
) </dev/null >/dev/null 2>&1 9>&- &
keeper=$!
[ -z "$signalled" ] || pass
code=''
while :; do
  interrupted=''
  wait "$child"
  told=$?
  [ "$told" = 127 ] && [ -n "$code" ] || code=$told
  [ -n "$interrupted" ] || break
done
read -r up rest </proc/uptime
if [ -n "$signalled" ] || [ -e "$kernel/stop" ]; then
  while [ -n "$(others)" ]; do sleep 0.2; done
fi
kill -KILL -"$child" 2>/dev/null
while IFS=: read -r hierarchy controllers group; do
  case $group/ in */job_"$SLURM_JOB_ID"/*) ;; *) continue ;; esac
  case ,$controllers, in
    ,,) events=/sys/fs/cgroup$group/memory.events ;;
    *,memory,*) events=/sys/fs/cgroup/memory$group/memory.oom_control ;;
    *) continue ;;
  esac
  [ -r "$events" ] && while read -r name count; do
    [ "$name" = oom_kill ] && [ "$count" != 0 ] && echo oom >&9 && break
  done <"$events"
done </proc/self/cgroup
echo "ran $began $up" >&9
echo "exit $code" >&9
kill -ALRM "$keeper" 2>/dev/null
kill -KILL -"$keeper" 2>/dev/null
wait "$keeper" 2>/dev/null
for place in /dev/shm "\${TMPDIR:-/tmp}"; do
  [ -n "$copy" ] && [ -e "$place/$copy" ] && rm -f "$place/$copy"
done
exit 0
`
