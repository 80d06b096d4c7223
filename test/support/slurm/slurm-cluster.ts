import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { accessSync, constants, existsSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fixedPort } from '../agents/fixed-port.ts'
import { findProgram, skipReason } from '../distribution.ts'
import { eventually } from '../eventually.ts'

const execute = promisify(execFile)

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const NEEDED = { slurmctld: 'slurmctld', slurmd: 'slurmd', sbatch: 'slurm-client', munged: 'munge' }
/** Hierarchies of cgroup v1 in which Slurm makes groups that it leaves behind. */
const HIERARCHIES = ['memory', 'freezer', 'cpuset', 'devices']

/** The memory of jobs that do not ask for any. Nodes have that for all of their processors. */
const MEMORY_PER_CPU_MIB = 200

/** Why there can be no cluster here; null where there can. */
export function whyNoSlurmCluster(): string | null {
  const missing = Object.entries(NEEDED).flatMap(([name, debian]) => (findProgram(name) === null ? [debian] : []))
  return skipReason('slurm', missing.length === 0 ? null : `it takes more: apt-get install ${missing.join(' ')}`)
}

/** Whether a cluster of this user has the memory of its jobs limited. */
export function canLimitMemory(): boolean {
  if (process.getuid?.() !== 0) return false
  try {
    accessSync('/sys/fs/cgroup/memory/cgroup.procs', constants.W_OK)
    return true
  } catch {
    return false
  }
}

export interface SlurmDaemon {
  start(): Promise<void>
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

export interface SlurmCluster {
  /** For clients: the variable SLURM_CONF. */
  readonly config: string
  /** Writable for who runs jobs. */
  readonly shared: string
  /** Two. */
  readonly nodes: readonly { name: string }[]
  readonly cpusPerNode: number
  /** Runs one of Slurm's programs as the cluster's user. */
  run(program: string, ...args: string[]): Promise<string>
}

/** A cluster that its test file may stop, fill and reconfigure. */
export interface OwnSlurmCluster extends SlurmCluster, AsyncDisposable {
  readonly controller: SlurmDaemon
  readonly nodes: readonly { name: string; daemon: SlurmDaemon }[]
}

export interface ClusterOptions {
  /** Its user, if this is root; null: this user. */
  user?: { uid: number; gid: number; name: string } | null
  cpusPerNode?: number
  gpusPerNode?: number
  /** The types of them, of which each node has one. If missing, they have none. */
  gpuTypes?: readonly string[]
  /** For so long it knows of a job that has ended. */
  jobAgeSeconds?: number
  /**
   * The time in which daemons and clients wait for an answer. Starting twenty jobs on a busy machine takes more than
   * 10.
   */
  messageSeconds?: number
  /** Further lines; `NODES` stands for the list of nodes. */
  lines?: readonly string[]
}

/**
 * A private cluster on loopback ports: munged, slurmctld and two slurmd of one machine, none of which needs root. As root
 * with cgroups of version 1 it limits the memory of jobs.
 */
export async function startSlurmCluster(directory: string, options: ClusterOptions = {}): Promise<OwnSlurmCluster> {
  const {
    user = null,
    cpusPerNode = 16,
    gpuTypes = [],
    gpusPerNode = gpuTypes.length,
    jobAgeSeconds = 10,
    messageSeconds = 10,
    lines = [],
  } = options
  const paths = Object.fromEntries(
    ['munge', 'state', 'log', 'shared'].map((name) => [name, join(directory, name)]),
  ) as Record<'munge' | 'state' | 'log' | 'shared', string>
  const own = async (path: string) => void (user !== null && (await chown(path, user.uid, user.gid)))
  for (const path of [directory, ...Object.values(paths)]) {
    await mkdir(path, { recursive: true, mode: 0o755 })
    await own(path)
  }
  const key = join(paths.munge, 'key')
  await writeFile(key, randomBytes(64), { mode: 0o600 })
  await own(key)
  const [port, first, second] = [await fixedPort(), await fixedPort(), await fixedPort()]
  // Cgroups are named after nodes, and several clusters may be up at a time.
  const names = [`n${first}`, `n${second}`] as const
  const config = join(directory, 'slurm.conf')
  const socket = join(directory, 'munge.socket')
  const me = user?.name ?? userInfo().username
  const limited = user === null && canLimitMemory()
  const host = hostname().split('.')[0]
  const memory = Math.max(4_000, cpusPerNode * MEMORY_PER_CPU_MIB)
  const named = gpuTypes.length > 0 ? gpuTypes.map((type) => `gpu:${type}:1`).join() : `gpu:${gpusPerNode}`
  const gpus = gpusPerNode > 0 ? ` Gres=${named}` : ''
  const text = [
    ...(gpusPerNode > 0 ? ['GresTypes=gpu'] : []),
    `ClusterName=test${port}`,
    `SlurmctldHost=${host}(127.0.0.1)`,
    `SlurmctldPort=${port}`,
    `SlurmUser=${me}`,
    `SlurmdUser=${me}`,
    'AuthType=auth/munge',
    `AuthInfo=socket=${socket}`,
    'CryptoType=crypto/munge',
    `StateSaveLocation=${paths.state}`,
    `SlurmdSpoolDir=${directory}/spool-%n`,
    `SlurmctldPidFile=${directory}/slurmctld.pid`,
    `SlurmdPidFile=${directory}/slurmd-%n.pid`,
    `SlurmctldLogFile=${paths.log}/slurmctld.log`,
    `SlurmdLogFile=${paths.log}/slurmd-%n.log`,
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_CPU_Memory',
    // Otherwise a job that does not say how much it needs has all memory of a node.
    `DefMemPerCPU=${MEMORY_PER_CPU_MIB}`,
    'SlurmdParameters=config_overrides',
    'ReturnToService=2',
    'SlurmdTimeout=15',
    // On a busy machine twenty jobs do not all start within 10 s, and one that does not is put back for two minutes.
    'BatchStartTimeout=120',
    'TCPTimeout=15',
    `MessageTimeout=${messageSeconds}`,
    'KillWait=2',
    `MinJobAge=${jobAgeSeconds}`,
    'MpiDefault=none',
    'SchedulerParameters=sched_min_interval=10000,batch_sched_delay=0',
    `ProctrackType=proctrack/${limited ? 'cgroup' : 'linuxproc'}`,
    `TaskPlugin=task/${limited ? 'cgroup' : 'none'}`,
    `NodeName=${names[0]} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${first} CPUs=${cpusPerNode} RealMemory=${memory}${gpus}`,
    `NodeName=${names[1]} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${second} CPUs=${cpusPerNode} RealMemory=${memory}${gpus}`,
    `PartitionName=main Nodes=${names.join()} Default=YES State=UP`,
    ...lines.map((line) => line.replaceAll('NODES', names.join())),
  ]
  await writeFile(config, `${text.join('\n')}\n`)
  if (gpusPerNode > 0) await writeFile(join(directory, 'gres.conf'), gresOf(gpusPerNode, gpuTypes))
  await writeFile(join(directory, 'cgroup.conf'), 'CgroupAutomount=no\nConstrainRAMSpace=yes\n')

  const identity = user === null ? {} : { uid: user.uid, gid: user.gid }
  const env = { PATH, SLURM_CONF: config }
  const daemon = (program: string, args: string[]) => createDaemon(program, args, { ...identity, env, cwd: directory })
  const run = runFor(config, identity)
  const munge = daemon('munged', [
    '--foreground',
    '--force',
    `--key-file=${key}`,
    `--socket=${socket}`,
    `--pid-file=${directory}/munge.pid`,
    `--log-file=${paths.log}/munged.log`,
    `--seed-file=${paths.munge}/seed`,
  ])
  const controller = daemon('slurmctld', ['-D', '-f', config])
  const nodes = names.map((name) => ({ name, daemon: daemon('slurmd', ['-D', '-f', config, '-N', name]) }))
  await munge.start()
  await eventually(() => existsSync(socket))
  await controller.start()
  for (const node of nodes) await node.daemon.start()
  const cluster: OwnSlurmCluster = {
    cpusPerNode,
    config,
    shared: paths.shared,
    controller,
    nodes,
    run,
    async [Symbol.asyncDispose]() {
      await run('scancel', '--quiet', '--state=RUNNING', '--signal=KILL', '--full').catch(() => '')
      for (const { daemon: each } of nodes) await each.stop('SIGTERM')
      await controller.stop('SIGKILL')
      await munge.stop('SIGKILL')
      if (limited) await Promise.all(names.map(removeCgroups))
    },
  }
  try {
    await eventually(async () => {
      const idle = await run('sinfo', '--noheader', '--Node', '--states=idle', '--format=%N').catch(() => '')
      return names.every((name) => idle.includes(name))
    })
  } catch (error) {
    const log = await readFile(join(paths.log, 'slurmctld.log'), 'utf8').catch(() => 'no log')
    await cluster[Symbol.asyncDispose]()
    throw new Error(`the cluster did not come up: ${log.slice(-2_000)}`, { cause: error })
  }
  return cluster
}

/** Runs one of Slurm's programs as a client of the cluster with this configuration. */
export function runFor(config: string, identity: { uid?: number; gid?: number } = {}): SlurmCluster['run'] {
  const env = { PATH, SLURM_CONF: config }
  return async (program, ...args) => (await execute(program, args, { ...identity, env, cwd: '/' })).stdout
}

/** Makes it the cluster of this process: SLURM_CONF names it until it is disposed of. */
export async function startOwnSlurmCluster(directory: string, options: ClusterOptions = {}): Promise<OwnSlurmCluster> {
  const cluster = await startSlurmCluster(directory, options)
  const restore = nameCluster(cluster)
  return {
    ...cluster,
    async [Symbol.asyncDispose]() {
      restore()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

/** Makes it the cluster of this process, by SLURM_CONF. @returns what undoes that */
export function nameCluster({ config }: SlurmCluster): () => void {
  const { SLURM_CONF: before } = process.env
  process.env['SLURM_CONF'] = config
  return () => {
    if (before === undefined) delete process.env['SLURM_CONF']
    else process.env['SLURM_CONF'] = before
  }
}

/** Devices that every machine has stand for GPUs: without a file each, Slurm would not tell programs which are theirs. */
function gresOf(gpus: number, types: readonly string[]): string {
  const devices = ['null', 'zero', 'full', 'random'].slice(0, gpus)
  const typeOf = (at: number) => (types[at] === undefined ? '' : ` Type=${types[at]}`)
  return devices.map((name, at) => `Name=gpu${typeOf(at)} File=/dev/${name}\n`).join('')
}

function createDaemon(program: string, args: string[], options: object): SlurmDaemon {
  let child: ChildProcess | null = null
  return {
    async start() {
      child = spawn(findProgram(program)!, args, { ...options, stdio: 'ignore' })
      await once(child, 'spawn')
    },
    async stop(signal) {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
}

/** Best effort: what still has processes stays. */
async function removeCgroups(node: string): Promise<void> {
  for (const hierarchy of HIERARCHIES) await removeTree(`/sys/fs/cgroup/${hierarchy}/slurm_${node}`)
}

async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name))
  await rmdir(path).catch(() => undefined)
}
