import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One GPU in the state file of the fake tools. */
export interface FakeGpu {
  uuid: string
  name?: string
  memoryMiB?: number
  usedMiB?: number
  /** Percent. */
  busy?: number
  watts?: number
  eccErrors?: number
  busId?: string
  /** Profiles of its MIG instances, like `3g.20gb`, by their UUIDs. */
  instances?: Record<string, string>
}

export interface FakeState {
  gpus: FakeGpu[]
  /** Printed to standard error, with exit code 15. */
  fails?: string
  hangs?: boolean
  /** Rows of `topo -m`. */
  links?: string[][]
}

export interface FakeTools {
  /** Put this first on the PATH of the agent. */
  readonly directory: string
  readonly nvidiaSmi: string
  set(state: FakeState): Promise<void>
}

const NVIDIA_SMI = `#!/bin/sh
here=$(dirname "$0")
[ -e "$here/hangs" ] && exec sleep 1000
if [ -e "$here/fails" ]; then cat "$here/fails" >&2; exit 15; fi
case "$*" in
  '--query-gpu=index,uuid,name,memory.total '*) cut -d , -f 1-4 "$here/list" ;;
  --query-gpu=index,uuid,memory.used,*) cat "$here/use" ;;
  --query-gpu=index,*) cat "$here/list" ;;
  --query-gpu=uuid,*) cat "$here/sample" ;;
  -L) cat "$here/instances" ;;
  'topo -m') cat "$here/links" ;;
  *) echo "unknown option $*" >&2; exit 2 ;;
esac
`

/** An `nvidia-smi` that reports what `set` has written, in the words of the real one. */
export async function fakeTools(directory: string): Promise<FakeTools> {
  const nvidiaSmi = join(directory, 'nvidia-smi')
  await mkdir(directory, { recursive: true })
  await writeFile(nvidiaSmi, NVIDIA_SMI)
  await chmod(nvidiaSmi, 0o755)
  const put = async (name: string, text: string) => {
    // A tool that reads meanwhile sees either all or nothing of it.
    await writeFile(join(directory, `${name}.new`), text)
    await rename(join(directory, `${name}.new`), join(directory, name))
  }
  return {
    directory,
    nvidiaSmi,
    async set({ gpus, fails, hangs = false, links = [] }) {
      await put('list', gpus.map((gpu, index) => `${listed(gpu, index)}\n`).join(''))
      await put('sample', gpus.map((gpu) => `${sampled(gpu)}\n`).join(''))
      await put('use', gpus.map((gpu, index) => `${inUse(gpu, index)}\n`).join(''))
      await put('instances', gpus.map((gpu, index) => withInstances(gpu, index)).join(''))
      await put('links', links.map((row) => `${row.join('\t')}\n`).join(''))
      if (fails === undefined) await rm(join(directory, 'fails'), { force: true })
      else await put('fails', `${fails}\n`)
      if (hangs) await put('hangs', '')
      else await rm(join(directory, 'hangs'), { force: true })
    },
  }
}

function listed(gpu: FakeGpu, index: number): string {
  const { uuid, name = 'NVIDIA A100-SXM4-40GB', memoryMiB = 40_960, instances } = gpu
  const mig = instances === undefined ? 'Disabled' : 'Enabled'
  return `${index}, ${uuid}, ${name}, ${memoryMiB}, 550.54.15, ${busIdOf(gpu, index)}, ${mig}`
}

function busIdOf({ busId }: FakeGpu, index: number): string {
  return busId ?? `00000000:${(index + 16).toString(16).toUpperCase()}:00.0`
}

function sampled({ uuid, usedMiB = 0, busy = 0, watts = 50, eccErrors = 0 }: FakeGpu): string {
  return `${uuid}, 41, ${usedMiB}, ${busy}, ${watts}.25, ${eccErrors}`
}

/** As a job's keeper asks for it. */
function inUse({ uuid, usedMiB = 0, busy = 0, watts = 50 }: FakeGpu, index: number): string {
  return `${index}, ${uuid}, ${usedMiB}, ${busy}, ${watts}.25`
}

function withInstances({ uuid, name = 'NVIDIA A100-SXM4-40GB', instances = {} }: FakeGpu, index: number): string {
  const rows = Object.entries(instances).map(
    ([instance, profile], at) => `  MIG ${profile}     Device  ${at}: (UUID: ${instance})\n`,
  )
  return `GPU ${index}: ${name} (UUID: ${uuid})\n${rows.join('')}`
}

/** A card in the answers of `addRocm`. */
export interface FakeCard {
  uniqueId: string
  usedBytes?: number
  busy?: number
}

/** Puts a `rocm-smi` beside the other fake tools, which answers as the real one does with `--json`. */
export async function addRocm({ directory }: FakeTools, cards: readonly FakeCard[]): Promise<string> {
  const path = join(directory, 'rocm-smi')
  const answer = {
    ...Object.fromEntries(
      cards.map(({ uniqueId, usedBytes = 0, busy = 0 }, index) => [
        `card${index}`,
        {
          'Unique ID': uniqueId,
          'Card Series': 'AMD Instinct MI210',
          'VRAM Total Memory (B)': String(64 * 1024 ** 3),
          'VRAM Total Used Memory (B)': String(usedBytes),
          'GPU use (%)': String(busy),
          'Temperature (Sensor edge) (C)': '44.0',
          'Average Graphics Package Power (W)': '38.0',
          'PCI Bus': `0000:0${index + 1}:00.0`,
        },
      ]),
    ),
    system: { 'Driver version': '6.3.6' },
  }
  await writeFile(join(directory, 'cards'), JSON.stringify(answer))
  await writeFile(path, '#!/bin/sh\nexec cat "$(dirname "$0")/cards"\n')
  await chmod(path, 0o755)
  return path
}
