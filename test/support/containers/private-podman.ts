import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../distribution.ts'

const run = promisify(execFile)

export interface Podman {
  /** Runs one command; returns its standard output. */
  (...args: string[]): Promise<string>
  /** Command line and environment of such a command, to be started otherwise. */
  command: { words: string[]; env: NodeJS.ProcessEnv }
}

/** Images are too large for memory, where a run has its files, and Podman refuses a long path. */
const PLACE = '/var/tmp/reprise-'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * A Podman whose images, containers and volumes are its own, and in nobody else's list. Containers use the network of
 * the machine. As they have this directory of the run in their environment, they end with the run, too.
 */
export async function privatePodman(ofRun: string): Promise<AsyncDisposable & { podman: Podman }> {
  const directory = await mkdtemp(PLACE)
  const conf = join(directory, 'containers.conf')
  await writeFile(conf, settings(ofRun))
  const env = { ...process.env, CONTAINERS_CONF: conf }
  const places = ['root', 'runroot', 'tmpdir'].flatMap((name) => [`--${name}`, join(directory, name)])
  const words = [findProgram('podman')!, ...places, '--storage-driver', await storageDriver(places, env)]
  const podman = async (...args: string[]) => {
    const { stdout } = await run(words[0]!, [...words.slice(1), ...args], { env, maxBuffer: OUTPUT_BYTES_MAX })
    return stdout
  }
  return {
    podman: Object.assign(podman, { command: { words, env } }),
    async [Symbol.asyncDispose]() {
      await podman('rm', '--all', '--force', '--time', '5')
      await podman('rmi', '--all', '--force')
      await podman('volume', 'prune', '--force')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A container in a container may not raise limits; these are those that all have. */
const LIMITS = ['nofile=1024:1024', 'nproc=1024:1024']

function settings(directory: string): string {
  return `[containers]
default_ulimits = ${JSON.stringify(LIMITS)}
env = ${JSON.stringify([`RUN_DIRECTORY=${directory}`])}
netns = "host"
init_path = "${findProgram('catatonit')}"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
`
}

/** Overlays cannot lie upon overlays, as where this machine is a container; copies can lie anywhere. */
async function storageDriver(places: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const works = run(findProgram('podman')!, [...places, '--storage-driver', 'overlay', 'info'], { env })
  return works.then(
    () => 'overlay',
    () => 'vfs',
  )
}
