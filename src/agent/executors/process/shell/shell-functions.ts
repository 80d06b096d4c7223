/**
 * For the scripts of fork server and keeper. `alive PID TICKS`: whether that very process (start time in clock ticks,
 * as in /proc) is there and is no zombie. Overwrites the positional parameters only within the function.
 */
export const ALIVE_FUNCTION = `alive() {
  [ -n "$2" ] && read -r stat </proc/$1/stat || return 1
  set -- "$2" \${stat##*) }
  [ "$1" = "\${21}" ] && case $2 in [ZX]) return 1 ;; esac
}`
