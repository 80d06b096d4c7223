import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../distribution.ts'
import { eventually } from '../eventually.ts'
import { BASE_IMAGE, type ContainerEngine, engineAt, type EngineName, type EnginePlace } from './engines.ts'

const run = promisify(execFile)

/** Images are too large for memory, where a run has its files, and Podman refuses a long path. */
const PLACE = '/var/tmp/reprise-'
/** A container in a container may not raise limits; these are those that all have. */
const LIMITS = ['nofile=1024:1024', 'nproc=1024:1024']

export interface PrivateEngine extends ContainerEngine, AsyncDisposable {
  readonly place: EnginePlace
  start(): Promise<void>
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** It answers nobody until it goes on. */
  pause(): void
  goOn(): void
}

export interface EngineOptions {
  /** The directory of the run: its processes end with the run. */
  ofRun: string
  /** host:port of the registry that stands in for Docker's own, from which images without a registry come. */
  hub?: string
  /** Docker's containers outlive it; those of Podman always do. */
  liveRestore?: boolean
  /** The size of a dedicated file system in memory for its images. */
  diskBytes?: number
  /** With a bridge of its own. */
  bridge?: boolean
  /** A directory with further programs that it finds. */
  programs?: string
  /** Devices that Podman as root knows by name: a specification of the Container Device Interface. */
  devices?: object
}

/** The directory in which every Podman looks for named devices. */
const DEVICES = '/etc/cdi'

/**
 * An engine of its own, with images and containers that are in nobody else's list; without the machine's bridge and
 * firewall. It has BASE_IMAGE.
 */
export async function startEngine(name: EngineName, options: EngineOptions): Promise<PrivateEngine> {
  const root = await mkdtemp(PLACE)
  const socket = join(root, 'engine.sock')
  const env: Record<string, string> = {
    PATH: [options.programs, process.env['PATH'], '/usr/local/sbin:/usr/sbin:/sbin'].filter(Boolean).join(':'),
    RUN_DIRECTORY: options.ofRun,
    HOME: root,
    TMPDIR: root,
  }
  const disk = join(root, name === 'docker' ? 'data' : 'root')
  if (options.diskBytes !== undefined) {
    await mkdir(disk)
    await run('mount', ['-t', 'tmpfs', '-o', `size=${options.diskBytes}`, 'reprise-test', disk])
  }
  const bridge = name === 'docker' && options.bridge ? await addBridge() : null
  const program = findProgram(name === 'docker' ? 'dockerd' : 'podman')!
  const podmans = name === 'docker' ? [] : await podmanOptions(root, env, options)
  const args =
    name === 'docker'
      ? dockerArguments(root, socket, options, bridge)
      : [...podmans, 'system', 'service', '--time=0', `unix://${socket}`]
  const server = await withDevices([program, ...args], root, options)
  const client: EnginePlace['client'] =
    name === 'docker' ? [findProgram('docker')!, '-H', `unix://${socket}`] : [program, ...podmans]
  const place: EnginePlace = { name, socket, disk, client, env }
  let child: ChildProcess | null = null

  const engine: PrivateEngine = {
    ...engineAt(place),
    place,
    async start() {
      // After a killed Docker its containerd is gone, but stays a zombie where nobody waits for orphans.
      await rm(join(root, 'exec', 'containerd', 'containerd.pid'), { force: true })
      const log = await open(join(root, 'log'), 'a')
      // Podman writes what it has seen of a lack of memory into its working directory.
      child = spawn(server[0], server.slice(1), { env, cwd: root, stdio: ['ignore', log.fd, log.fd] })
      await once(child, 'spawn')
      await log.close()
      const isUp = () =>
        engine.call('GET', '/_ping').then(
          ({ status }) => status === 200,
          () => false,
        )
      await eventually(async () => {
        if (child!.exitCode !== null)
          throw new Error(`${name}: ${(await readFile(join(root, 'log'), 'utf8')).slice(-2_000)}`)
        return isUp()
      })
    },
    async stop(signal) {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
    pause: () => void child!.kill('SIGSTOP'),
    goOn: () => void child!.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      const isUp = await engine.call('GET', '/_ping').then(
        () => true,
        () => false,
      )
      if (!isUp) await engine.start().catch(() => undefined)
      await removeContainers(engine).catch(() => undefined)
      await engine.stop('SIGTERM')
      if (bridge !== null) await run('ip', ['link', 'delete', bridge])
      await unmountBelow(root)
      await rm(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  await engine.start()
  await importBase(engine, root)
  return engine
}

function dockerArguments(
  root: string,
  socket: string,
  { liveRestore = true, hub }: EngineOptions,
  bridge: string | null,
): string[] {
  return [
    '--iptables=false',
    '--ip6tables=false',
    `--bridge=${bridge ?? 'none'}`,
    // Several engines would take the same addresses at the same time: each has sixteen networks of its own.
    `--default-address-pool=base=10.${randomInt(200, 255)}.${16 * randomInt(16)}.0/20,size=24`,
    '--storage-driver=vfs',
    ...(hub === undefined ? [] : [`--registry-mirror=http://${hub}`]),
    ...(liveRestore ? ['--live-restore'] : []),
    `--data-root=${join(root, 'data')}`,
    `--exec-root=${join(root, 'exec')}`,
    `--host=unix://${socket}`,
    `--pidfile=${join(root, 'docker.pid')}`,
    '--shutdown-timeout=1',
    ...LIMITS.map((limit) => `--default-ulimit=${limit}`),
  ]
}

/** Docker's usual bridge is the machine's, and any Docker of these tests that has none removes it. */
async function addBridge(): Promise<string> {
  const name = `reprise${randomBytes(4).toString('hex')}`
  await run('ip', ['link', 'add', 'name', name, 'type', 'bridge'])
  await run('ip', ['address', 'add', `10.${randomInt(100, 200)}.${randomInt(256)}.1/24`, 'dev', name])
  await run('ip', ['link', 'set', name, 'up'])
  return name
}

/** Options of every command; its settings go to the environment. */
async function podmanOptions(root: string, env: Record<string, string>, { hub }: EngineOptions): Promise<string[]> {
  const files = {
    CONTAINERS_CONF: `[containers]
default_ulimits = ${JSON.stringify(LIMITS)}
netns = "host"
init_path = "${findProgram('catatonit')}"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
events_logfile_path = "${join(root, 'events')}"
runtime = "runc"
`,
    CONTAINERS_REGISTRIES_CONF: [
      // As with Docker, registries of this machine speak plain HTTP at any port.
      '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n',
      ...(hub === undefined ? [] : [`[[registry]]\nprefix = "docker.io"\nlocation = "${hub}"\ninsecure = true\n`]),
    ].join(''),
  }
  for (const [variable, text] of Object.entries(files)) {
    const path = join(root, variable.toLowerCase())
    await writeFile(path, text)
    Object.assign(env, { [variable]: path })
  }
  const places = ['root', 'runroot', 'tmpdir'].flatMap((place) => [`--${place}`, join(root, place)])
  return [...places, '--storage-driver', 'vfs']
}

/** No other engine sees them: two that know a device by the same name know it no more. */
async function withDevices(
  command: [string, ...string[]],
  root: string,
  { devices }: EngineOptions,
): Promise<[string, ...string[]]> {
  if (devices === undefined) return command
  const own = join(root, 'cdi')
  await Promise.all([mkdir(own), mkdir(DEVICES, { recursive: true })])
  await writeFile(join(own, 'devices.json'), JSON.stringify(devices))
  return ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" "$1" && shift && exec "$@"', own, DEVICES, ...command]
}

/** The image as a tar: no registry is needed. */
async function importBase(engine: PrivateEngine, root: string): Promise<void> {
  await engine.cli('import', await archiveBase(root), BASE_IMAGE)
}

/** @returns the path of a tar with BASE_IMAGE's files, below `root` */
export async function archiveBase(root: string): Promise<string> {
  const files = join(root, 'base')
  for (const directory of ['bin', 'etc', 'tmp', 'proc', 'sys', 'dev']) {
    await mkdir(join(files, directory), { recursive: true })
  }
  await chmod(join(files, 'tmp'), 0o1777)
  await run('cp', [findProgram('busybox')!, join(files, 'bin', 'busybox')])
  await run(join(files, 'bin', 'busybox'), ['--install', '-s', join(files, 'bin')])
  // The links name the file where it is now.
  await run('sh', ['-c', 'for link in *; do [ "$link" = busybox ] || ln -sf busybox "$link"; done'], {
    cwd: join(files, 'bin'),
  })
  await writeFile(join(files, 'etc', 'passwd'), 'root:x:0:0:root:/:/bin/sh\n')
  const archive = join(root, 'base.tar')
  await run('tar', ['--owner=0', '--group=0', '-cf', archive, '-C', files, '.'])
  return archive
}

async function removeContainers(engine: PrivateEngine): Promise<void> {
  const { text } = await engine.call('GET', '/containers/json?all=1')
  for (const { Id } of JSON.parse(text) as { Id: string }[]) {
    await engine.call('DELETE', `/containers/${Id}?force=1&v=1`)
  }
}

async function unmountBelow(root: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '')
  for (const mount of mounts.filter((each) => each.startsWith(`${root}/`)).toReversed()) {
    if (existsSync(mount)) await run('umount', ['--lazy', mount]).catch(() => undefined)
  }
}
