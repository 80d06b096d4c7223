import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'

/**
 * A service of a run is a process that all workers share, with an engine or a cluster. The first test that needs it
 * starts it, and the watchdog ends it with the run. It has a directory below the run's:
 *
 *   pid           exists until the service has ended in order
 *   description   JSON for tests; exists once the service can be used
 *   failure       why it did not start
 *   log           output of the process
 */

const SERVICES = 'services'
const STARTS_WITHIN_MS = 300_000
const ENDS_WITHIN_MS = 60_000

/** @param program path of a program that calls `serveRun` */
export async function runService<Description>(
  runDirectory: string,
  name: string,
  program: string,
): Promise<Description> {
  const services = join(runDirectory, SERVICES)
  const directory = join(services, name)
  await mkdir(services, { recursive: true })
  const isFirst = await mkdir(directory).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
  if (isFirst) startProgram(program, directory)
  const text = await eventually(
    async () => {
      const failure = await readIfThere(join(directory, 'failure'))
      if (failure !== null) throw new Error(`the shared ${name} did not start: ${failure}`)
      return readIfThere(join(directory, 'description'))
    },
    { withinMs: STARTS_WITHIN_MS, what: `the shared ${name}; see ${join(directory, 'log')}` },
  )
  return JSON.parse(text) as Description
}

/** The process outlives the worker that starts it. */
function startProgram(program: string, directory: string): void {
  const log = openSync(join(directory, 'log'), 'a')
  spawn(process.execPath, [program, directory], { stdio: ['ignore', log, log], detached: true }).unref()
  closeSync(log)
}

/** The main function of a service's program: starts it in the directory named by the first argument, ends it at SIGTERM. */
export async function serveRun(
  start: (directory: string) => Promise<{ description: unknown; end(): Promise<void> }>,
): Promise<void> {
  const directory = process.argv[2]!
  const told = new Promise((resolve) => process.once('SIGTERM', resolve))
  const put = async (name: string, text: string) => {
    await writeFile(join(directory, `${name}.new`), text)
    await rename(join(directory, `${name}.new`), join(directory, name))
  }
  await put('pid', String(process.pid))
  // Without it the process would end while it waits for the signal.
  const staying = setInterval(() => undefined, 60_000)
  try {
    const { description, end } = await start(directory)
    await put('description', JSON.stringify(description))
    await told
    await end()
  } catch (error) {
    await put('failure', error instanceof Error ? String(error.stack) : String(error))
  } finally {
    clearInterval(staying)
    await rm(join(directory, 'pid'))
  }
}

/** Ends the services of a run in order, all at once. */
export async function endServices(runDirectory: string): Promise<void> {
  const services = join(runDirectory, SERVICES)
  const names = await readdir(services).catch(() => [])
  await Promise.all(names.map((name) => endService(join(services, name, 'pid'))))
}

async function endService(pidFile: string): Promise<void> {
  const pid = Number(await readIfThere(pidFile))
  if (pid === 0) return
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // Something has killed it.
    return
  }
  // The watchdog then ends what is left.
  await eventually(async () => (await readIfThere(pidFile)) === null, { withinMs: ENDS_WITHIN_MS }).catch(() => '')
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null)
}
