import {
  LOG_BYTES_PER_KERNEL_MAX,
  LOG_FILE_CHECK_MS,
  LOG_FILE_CUT_BYTES,
  LOG_FILE_FLOOD_CHECK_MS,
  LOG_HEAD_BYTES_PER_STREAM_MAX,
} from '../../../../domain/limits.ts'
import { ALIVE_FUNCTION } from '../shell.ts'
import { FENCED } from '../../executor.ts'
import type { StopMark } from '../../kernels/kernel-directory.ts'

/** The content of `stop` for kernels that a script stops. It contains no single quotation marks. */
export const FENCED_MARK = JSON.stringify({ killAt: 0, error: FENCED } satisfies StopMark)

/** Seconds that a working agent needs to begin its own orderly stops. */
const AGENT_FIRST = 1
/** Seconds that these stops may take: their grace period, and the time until SIGKILL works. */
const STOPS_END = 7

/**
 * Seconds after the fence in which a slow engine may still start a container for an agent that has died since. An
 * engine that was suspended longer than this is assumed not to continue.
 */
const LATE_START = 600
const CONTAINER_ID = 64

/** Number of kernels from which a check takes longer than 5 ms. Checks then pause for this many seconds. */
const MANY_KERNELS = 500
const MANY_KERNELS_PAUSE = 0.25

/** Number of checks in a row without anything to cut after which a flood of output is over. */
const FLOOD_CHECKS = 25

/** Outputs are measured at least once in this many checks, since a program may set back the time of its own output. */
const CHECKS_PER_MEASUREMENT = 10

/** Unit in which `stat` counts blocks. */
const BLOCK = 512

/**
 * The keeper: one detached `sh` per agent that enforces the fence, even without agent and fork server. It has
 * its own session and no input, and ignores the signals that end other programs. Where permitted, it has a real-time
 * priority, and is the last process that the system kills when memory runs out. It runs in `kernels/` and reads
 *
 *   ../keeper  its own pid and start time; it exits when another keeper has written its own
 *   ../kept    pid and start time of the agent, while the agent uses this directory
 *   ../fence   the uptime in whole seconds until which kernels may run, and the boot id
 *
 * every LOG_FILE_CHECK_MS while there are kernels, and once a second otherwise. Once the fence has passed, it marks as
 * fenced and kills every live kernel that is not being stopped, and a few seconds later every live kernel. It kills
 * them even if the disk has no space for the mark. A kernel is identified by pid and start time from its `status`. The
 * keeper kills its process group, its session and its cgroup. A PID namespace ends with its first process, the child of
 * the process that the shim has started. The keeper exits when the agent is gone and no kernel is left, or none that
 * outlives the fence.
 *
 * If an agent has not recorded the process of a container, the keeper knows the container by its id, from `claimed` in
 * `status`. Its processes are those whose cgroup has the engine's name for it; the engine's monitor process is in
 * another. One `grep` for all such kernels searches for them once a second (measured: 6 ms with 100 processes), until
 * they were killed or LATE_START is over.
 *
 * Each check also limits output. A shipped log consists of a head and a tail of together LOG_BYTES_PER_KERNEL_MAX. Once
 * a file takes more than LOG_FILE_CUT_BYTES, the disk space between these two parts is freed. The file keeps its
 * length, so no offset changes. If the file system cannot do that, the file is cut off behind its head, and a note
 * there counts what has been left out so far; `stdout.cut` stores that number and the note's length.
 *
 * Outputs are measured only if one was written to since the last measurement began, when `../measured` is written: on a
 * slow machine, starting `find` takes 5 ms, while the shell compares the times itself in 0.06 ms. The keeper does not
 * wait for `fallocate`: once it has cut, it writes the rest of the file to the disk (measured: 40 to 400 ms), while the
 * program keeps writing.
 *
 * A fence that is renewed meanwhile ends the check: a kernel that the agent starts from then on may have the directory of
 * one that has ended.
 *
 * A kernel that begins at the same time reads the fence itself, after its first line in `status`: either it sees that
 * the fence has passed, or the keeper sees the line. So after one check that finds nothing alive, no further check is
 * needed until the fence is renewed.
 */
export const KEEPER_SCRIPT = `trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec </dev/null >/dev/null 2>&1
echo -900 >/proc/$$/oom_score_adj
chrt -f -p 1 $$ || renice -n -20 -p $$
${ALIVE_FUNCTION}
empty() {
  [ -n "$group" ] && read -r member <"$group/cgroup.procs" || return 1
  echo 0 >"$group/pids.max"
  echo 1 >"$group/cgroup.kill" || while read -r member; do kill -KILL "$member"; done <"$group/cgroup.procs"
}
parent() { read -r stat <"/proc/$1/stat" && set -- \${stat##*) } && parent=$2; }
due() {
  stop=\${status%status}stop
  if [ -e "$stop" ] || [ -L "$stop" ]; then [ "$up" -ge $((until + ${STOPS_END})) ]
  else echo '${FENCED_MARK}' >"$stop" || :
  fi
}
claimed() {
  [ \${#id} = ${CONTAINER_ID} ] && [ "$up" -lt $((until + ${LATE_START})) ] || return
  case $ended in *"$id"*) return ;; esac
  quiet=''
  [ "$up" != "$looked" ] || return
  [ -n "$members" ] || members=$(grep -E '/(docker-|libpod-)?[0-9a-f]{${CONTAINER_ID}}' /proc/[0-9]*/cgroup)
  members=\${members:-none} found=''
  while IFS=: read -r file line; do
    case $line in *"/$id"* | *"/docker-$id"* | *"/libpod-$id"*) ;; *) continue ;; esac
    case $killed in *"$id"*) ;; *) due || return; killed="$killed $id" ;; esac
    found=1 member=\${file#/proc/}
    kill -KILL "\${member%/*}"
  done <<END
$members
END
  [ -n "$found" ] || case $killed in *"$id"*) ended="$ended $id" ;; esac
}
enforce() {
  quiet=$until members=''
  for status in */status; do
    read -r renewed was <../fence && [ "$renewed" = "$until" ] || { quiet=''; return; }
    [ -f "$status" ] || continue
    pid='' over='' group='' inner='' id=''
    while read -r word first rest; do
      case $word in
        claimed) id=$first ;; began) pid=$first start=\${rest##*) } ;; exit) over=1 ;; group) group=$first ;;
        '"child-pid":') inner=\${first%,} ;;
      esac
    done <"$status"
    [ -z "$over" ] || continue
    [ -n "$pid" ] || { claimed; continue; }
    set -- $start; alive "$pid" "\${20}" || { empty && quiet=''; continue; }
    quiet=''
    due || continue
    [ -n "$inner" ] && parent "$inner" && parent "$parent" && [ "$parent" = "$pid" ] && kill -KILL "$inner"
    kill -KILL -$pid
    for each in /proc/[0-9]*/stat; do
      read -r stat <"$each" && set -- \${stat##*) } && [ "$4" = "$pid" ] && each=\${each#/proc/} && kill -KILL \${each%/*}
    done
    empty
  done
  looked=$up
}
cut_off() {
  before='' noted=''
  read -r before noted <"$file.cut"
  size=$(stat -c %s "$file")
  left=$((size - ${LOG_HEAD_BYTES_PER_STREAM_MAX} - \${noted:-0} + \${before:-0}))
  note="[reprise: $left bytes of output are left out here]"
  truncate -s ${LOG_HEAD_BYTES_PER_STREAM_MAX} "$file" && printf '\\n%s\\n' "$note" >>"$file"
  echo "$left $((\${#note} + 2))" >"$file.cut"
}
written() {
  for file in */stdout */stderr; do [ ! -e "$file" ] || [ "$file" -ot ../measured ] || return 0; done
  return 1
}
cut() {
  [ $flood = 0 ] || flood=$((flood - 1))
  unmeasured=$((unmeasured + 1))
  [ $unmeasured -ge ${CHECKS_PER_MEASUREMENT} ] || written || return
  unmeasured=0
  echo >../measured
  large=$(find . -mindepth 2 -maxdepth 2 -type f '(' -name stdout -o -name stderr ')' \\
    -size +${LOG_FILE_CUT_BYTES / 1024}k -exec stat -c '%b %s %n' {} +)
  [ -n "$large" ] || return
  while read -r blocks size file; do
    [ "$blocks" -gt ${LOG_FILE_CUT_BYTES / BLOCK} ] || continue
    flood=${FLOOD_CHECKS}
    hole=$((size - ${LOG_BYTES_PER_KERNEL_MAX}))
    if [ -n "$holes" ]; then fallocate -p -o ${LOG_HEAD_BYTES_PER_STREAM_MAX} -l $hole "$file" &
    else cut_off
    fi
  done <<END
$large
END
}
read -r stat </proc/$$/stat; set -- \${stat##*) }; own="$$ \${20}"
echo "$own" >"../keeper.$$" && mv -f "../keeper.$$" ../keeper || exit
read -r boot </proc/sys/kernel/random/boot_id
: >"../holes.$$" && fallocate -p -o 0 -l 4096 "../holes.$$" && holes=1 || holes=''
rm -f "../holes.$$"
quiet='' flood=0 unmeasured=0 looked='' killed='' ended=''
while read -r owner <../keeper && [ "$owner" = "$own" ]; do
  until='' passed=''
  read -r until was <../fence && [ "$was" = "$boot" ] || until=''
  read -r up rest </proc/uptime; up=\${up%.*}
  [ -n "$until" ] && [ "$up" -ge $((until + ${AGENT_FIRST})) ] && passed=1
  [ -n "$passed" ] && [ "$quiet" != "$until" ] && enforce
  set -- *
  if [ -e "./$1" ]; then
    cut
    if [ $flood -gt 0 ]; then pause=${LOG_FILE_FLOOD_CHECK_MS / 1000}
    elif [ $# -gt ${MANY_KERNELS} ]; then pause=${MANY_KERNELS_PAUSE}
    else pause=${LOG_FILE_CHECK_MS / 1000}
    fi
  else pause=1
  fi
  if read -r pid ticks <../kept && alive "$pid" "$ticks"; then :
  elif [ $pause = 1 ]; then exit
  elif [ -z "$until" ] || [ "$quiet" = "$until" ]; then exit
  fi
  sleep $pause
done
`
