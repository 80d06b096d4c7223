/** The files of a kernel's directory in which its job tells which GPUs it has, and its keeper what they do. */
export const DEVICES_FILE = 'devices'
export const DEVICE_USE_FILE = 'device-use'

/** A job begins without knowing its GPUs if the tool takes longer than this, in tenths of a second. */
const TOOL_WITHIN_TENTHS = 50

/**
 * The beginning of the script of a kernel that asks for GPUs, in POSIX sh. It tells the program, by REPRISE_GPUS, which
 * GPUs Slurm has given to the job, and writes it to the kernel's directory, which is the current one.
 *
 * - CUDA_VISIBLE_DEVICES, which Slurm has set, has indexes among the GPUs that the job can see, or UUIDs.
 * - The tool is no child of this shell, which becomes the program, and it may hang for ever in the driver, where no
 *   signal reaches it. So its end is a line in a file, for which the shell waits for a few seconds.
 * - If the tool is missing, fails or hangs, the program begins without REPRISE_GPUS.
 */
export const TELL_DEVICES = `devices=\${CUDA_VISIBLE_DEVICES-}
case $devices in NoDevFiles | -1) devices='' ;; esac
list_devices() {
  export PATH="\${gpu_path:-/usr/bin:/bin}"
  timeout --foreground -k 1 10 nvidia-smi --query-gpu=index,uuid,name,memory.total --format=csv,noheader,nounits
  case $devices in *MIG-*) timeout --foreground -k 1 10 nvidia-smi -L ;; esac
  echo end
}
add_device() { listed=$listed\${listed:+,}"{\\"index\\":$1,\\"uuid\\":\\"$2\\",\\"name\\":\\"$3\\",\\"memoryBytes\\":$4}"; }
is_own() {
  case ",$devices," in *",$1,"*) return 0 ;; esac
  return 1
}
read_device() {
  case $1 in
    'GPU '*) rest=\${1#GPU } index=\${rest%%:*} model=\${rest#*: } model=\${model%% (UUID*} ;;
    *'MIG '*'(UUID: MIG-'*)
      uuid=\${1##*UUID: } uuid=\${uuid%)} profile=\${1#*MIG } profile=\${profile%% *} gib=\${profile##*.} gib=\${gib%gb*}
      case $gib in '' | *[!0-9]*) bytes=null ;; *) bytes=$((gib * 1073741824)) ;; esac
      is_own "$uuid" && add_device "$index" "$uuid" "$model MIG $profile" "$bytes" ;;
    *,*,*,*)
      index=\${1%%,*} rest=\${1#*, } uuid=\${rest%%,*} rest=\${rest#*, } model=\${rest%,*} memory=\${rest##*, }
      case $memory in '' | *[!0-9]*) bytes=null ;; *) bytes=$((memory * 1048576)) ;; esac
      { is_own "$index" || is_own "$uuid"; } && add_device "$index" "$uuid" "$model" "$bytes" ;;
  esac
}
if [ -n "$devices" ]; then
  (list_devices >${DEVICES_FILE}.new 2>/dev/null </dev/null &)
  listed='' tries=0 line=''
  while [ "$line" != end ] && [ "$tries" -lt ${TOOL_WITHIN_TENTHS} ]; do
    sleep 0.1
    tries=$((tries + 1))
    [ -r ${DEVICES_FILE}.new ] && while read -r each; do line=$each; done <${DEVICES_FILE}.new
  done
  [ "$line" = end ] && while IFS= read -r line; do
    case $line in *[\\"\\\\]*) ;; *) read_device "$line" ;; esac
  done <${DEVICES_FILE}.new
  [ -z "$listed" ] || {
    REPRISE_GPUS="[$listed]"
    export REPRISE_GPUS
    printf '%s\\n' "$REPRISE_GPUS" >${DEVICES_FILE}
  }
fi
unset gpu_path
unset -f list_devices add_device is_own read_device`

/**
 * A function of the keeper that counts what the job's GPUs do, every 15 s. It never returns.
 *
 *   count_devices <file>
 *
 * The file has one line: the peak of the used memory in MiB, the peak of the utilisation in percent, the sum of the
 * utilisation × seconds, the GPU-seconds over which that is a sum, energy in joules, GPU-seconds, and the seconds since
 * one of them was last seen to compute. `-` is unknown. A GPU whose use the driver does not report counts as busy.
 */
export const COUNT_DEVICES_FUNCTION = `count_devices() {
  peak=- most=- busy=0 known=0 energy=- total=0 last='' active=''
  while :; do
    text=$(timeout --foreground -k 1 10 nvidia-smi --query-gpu=index,uuid,memory.used,utilization.gpu,power.draw \\
      --format=csv,noheader,nounits)
    read -r now rest </proc/uptime
    now=\${now%.*}
    since=$((now - \${last:-$now}))
    [ "$since" -le 60 ] || since=60
    last=$now used=- idle=yes count=0
    while IFS=, read -r index uuid memory use watts; do
      uuid=\${uuid# } memory=\${memory# } use=\${use# } watts=\${watts# } watts=\${watts%%.*}
      case ",$CUDA_VISIBLE_DEVICES," in *",$index,"* | *",$uuid,"*) ;; *) continue ;; esac
      count=$((count + 1))
      digits "$memory" && used=$((\${used#-} + memory))
      digits "$watts" && energy=$((\${energy#-} + watts * since))
      digits "$use" && [ "$use" -lt 1 ] || idle=no
      digits "$use" || continue
      [ "$most" != - ] && [ "$most" -ge "$use" ] || most=$use
      busy=$((busy + use * since)) known=$((known + since))
    done <<END
$text
END
    [ "$used" = - ] || { [ "$peak" != - ] && [ "$peak" -ge "$used" ]; } || peak=$used
    total=$((total + count * since))
    [ "$idle" = yes ] && [ -n "$active" ] || active=$now
    [ "$count" = 0 ] || echo "$peak $most $busy $known $energy $total $((now - active))" >"$1"
    sleep 15
  done
}
`
