import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findProgram, skipReason } from '../distribution.ts'
import { eventually } from '../eventually.ts'

/** The programs that are needed to make one. */
const NEEDED = { catatonit: 'catatonit', nsenter: 'util-linux' }

/** The additional programs for containers of an ordinary user. */
const FOR_PODMAN = {
  podman: 'podman',
  runc: 'runc',
  newuidmap: 'uidmap',
  slirp4netns: 'slirp4netns',
  busybox: 'busybox-static',
}

/** Why no ordinary user can be made who has containers; null where one can. */
export function whyNoOrdinaryUser(): string | null {
  return whyNot('podman-rootless', { ...NEEDED, ...FOR_PODMAN })
}

/** The same for one who has a Slurm cluster, see whyNoSlurmCluster. */
export function whyNoOrdinaryUserOfSlurm(): string | null {
  return whyNot('slurm-ordinary', NEEDED)
}

function whyNot(need: string, needed: Readonly<Record<string, string>>): string | null {
  const missing = Object.entries(needed).flatMap(([program, debian]) => (findProgram(program) === null ? [debian] : []))
  if (missing.length > 0) return skipReason(need, `it takes more: apt-get install ${missing.join(' ')}`)
  return skipReason(need, process.getuid?.() === 0 ? null : 'only root makes such a user')
}

const CHECKOUT = join(import.meta.dirname, '../../..')
const NAME = 'ordinary'
const SUBORDINATE_IDS = 65_536
/** Podman refuses a long path, and images are too large for memory. */
const PLACE = '/var/tmp/reprise-'

/**
 * A user as `useradd` makes one: no rights, a home, a range of subordinate ids. Nobody else sees the account, for it
 * stands in the files of a mount namespace of its own; there it may open what udev lets everybody open, and has this
 * checkout and this Node under `home`, whoever may read where they are. Its processes are in a namespace of their own,
 * too, and end with it.
 */
export interface OrdinaryUser extends AsyncDisposable {
  readonly uid: number
  readonly home: string
  readonly environment: Readonly<Record<string, string>>
  /** The same file, where the user has it. */
  inCheckout(path: string): string
  readonly node: string
  spawn(words: readonly string[], options?: { environment?: Record<string, string>; log?: number }): ChildProcess
  run(words: readonly string[], environment?: Record<string, string>): Promise<Ended>
}

interface Ended {
  status: number | null
  stdout: string
  stderr: string
}

export async function makeOrdinaryUser(ofRun: string): Promise<OrdinaryUser> {
  const root = await mkdtemp(PLACE)
  const [home, runtime] = [join(root, 'home'), join(root, 'run')]
  const uid = randomInt(70_000, 90_000)
  await chmod(root, 0o755)
  for (const directory of ['home', 'run', 'etc', 'dev', 'checkout', 'node']) await mkdir(join(root, directory))
  for (const directory of [home, runtime]) {
    await chown(directory, uid, uid)
    await chmod(directory, 0o700)
  }
  await writeAccount(join(root, 'etc'), uid, home)
  const init = spawn(
    'unshare',
    ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-ec', SETTLE, 'settle', root, CHECKOUT],
    { env: { ...process.env, NODE_DIRECTORY: dirname(process.execPath) }, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const said = { out: '', errors: '' }
  init.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
  init.stderr.setEncoding('utf8').on('data', (text: string) => (said.errors += text))
  await eventually(() => {
    if (init.exitCode !== null) throw new Error(`no ordinary user: ${said.errors}`)
    return said.out.includes('settled')
  })
  const pid = await onlyChild(init.pid!)
  const environment = {
    PATH: `${join(root, 'node')}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin`,
    HOME: home,
    USER: NAME,
    LANG: 'C.UTF-8',
    TMPDIR: home,
    XDG_RUNTIME_DIR: runtime,
    RUN_DIRECTORY: ofRun,
  }
  const enter = [`--target=${pid}`, '--mount', '--pid', `--wd=${home}`, '--']
  const become = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all', '--']

  const user: OrdinaryUser = {
    uid,
    home,
    environment,
    node: join(root, 'node', 'node'),
    inCheckout: (path) => join(root, 'checkout', path),
    spawn: (words, { environment: more = {}, log } = {}) =>
      spawn('nsenter', [...enter, ...become, ...words], {
        env: { ...environment, ...more },
        stdio: log === undefined ? 'pipe' : ['ignore', log, log],
      }),
    async run(words, more) {
      const child = user.spawn(words, { environment: more })
      const output = { stdout: '', stderr: '' }
      child.stdout!.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
      child.stderr!.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
      child.stdin!.end()
      const [status] = (await once(child, 'close')) as [number | null]
      return { status, ...output }
    },
    async [Symbol.asyncDispose]() {
      const gone = once(init, 'exit')
      init.stdin.end()
      await gone
      await rm(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return user
}

/**
 * In the namespaces, as their first process: lays the account over the machine's, and stays until its input ends. A
 * device that everybody may open where udev has been is there for everybody here, too.
 */
const SETTLE = `
root=$1
mount --make-rshared /
for file in passwd group subuid subgid; do [ ! -e /etc/$file ] && touch /etc/$file; mount --bind "$root/etc/$file" /etc/$file; done
mount --bind "$2" "$root/checkout"
mount --bind "$NODE_DIRECTORY" "$root/node"
mount -t tmpfs -o mode=755 devices "$root/dev"
mknod -m 666 "$root/dev/tun" c 10 200
mount --bind "$root/dev/tun" /dev/net/tun
echo settled
exec catatonit -- cat
`

async function writeAccount(directory: string, uid: number, home: string): Promise<void> {
  const ids = `${NAME}:${1_000_000 + SUBORDINATE_IDS * randomInt(1_000)}:${SUBORDINATE_IDS}\n`
  const lines = {
    passwd: `${NAME}:x:${uid}:${uid}::${home}:/bin/sh\n`,
    group: `${NAME}:x:${uid}:\n`,
    subuid: ids,
    subgid: ids,
  }
  for (const [file, line] of Object.entries(lines)) {
    const before = await readFile(join('/etc', file), 'utf8').catch(() => '')
    await writeFile(join(directory, file), before + line, { mode: 0o644 })
  }
}

async function onlyChild(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim()
}
