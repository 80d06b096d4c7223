/**
 * Ends the command where the agent's lease has run out, and carries out a stop where Slurm's controller is down.
 *
 *   keeper <lease> <kernel's directory> <process group> <copy> <counter> <uptime when seen> <ttl> <status>
 *
 * - Age is measured by the node's own uptime since a renewal was seen; the clocks of two machines are compared only to
 *   shorten it, never to lengthen it.
 * - A shared directory that hangs must not stop it. Only the reader looks there; the loop has the reader's copy, on a
 *   file system of the node, and counts a line once its newline is there. Where it cannot have one, the lease that the
 *   job began with is the last.
 * - The copy exists already, or is empty. Its name stands on the command line, which other users of the node can read.
 * - `ending fence` and `stopping` stand in `status` before the first signal, unless the directory hangs; `killed fence` when
 *   nothing of the process group is left.
 */
export const KEEPER_SCRIPT = `lease=$1 kernel=$2 group=$3 copy=$4 last=$5 seen=$6 ttl=$7 status=$8
cd /
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
renew() {
  read -r up rest </proc/uptime
  age=$(($(date +%s) - written))
  [ "$age" -gt 0 ] || age=0
  [ "$age" -le "$ttl" ] || age=$ttl
  seen=$((\${up%.*} - age))
}
finish() {
  kill -KILL -"$group"
  while kill -0 -"$group"; do sleep 1; done
  [ -z "$1" ] || echo "killed $1" >>"$status" &
  sleep 5
  rm -f "$copy"
  kill -KILL 0
}
told=no
sleep 1
while kill -0 "$group" || kill -0 -"$group"; do
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
    sleep 4
    finish fence
  fi
  sleep 2
done
rm -f "$copy"
kill -KILL 0
`
