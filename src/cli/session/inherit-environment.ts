import { existsSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import process from 'node:process'
import { type MachineIdentity, machineIdentity } from '../../machine/machine-identity.ts'
import type { ClientContext } from '../client-command.ts'
import type { SessionOptions } from '../options/session-options.ts'

/** The variables by which an activated environment has an effect. */
const INHERITED = ['PATH', 'VIRTUAL_ENV', 'CONDA_PREFIX', 'LD_LIBRARY_PATH', 'MODULEPATH']

type Context = Pick<ClientContext, 'client' | 'server' | 'out' | 'signal'>
type Options = Pick<SessionOptions, 'env' | 'secret' | 'secretFile' | 'envFrom' | 'resourceGroup' | 'upload'>

/**
 * Adds variables of this process to those of the session: the named ones, and those of an activated environment if the
 * session will run beside it. If it will not, and the command needs the environment, prints the reason.
 */
export async function withEnvironment<Given extends Options>(
  context: Context,
  given: Given,
  command: readonly string[],
): Promise<Given> {
  const { out } = context
  const { env = [], secret = [], secretFile = [], envFrom = [] } = given
  const taken = new Set([...env, ...secret, ...secretFile].map(([name]) => name))
  const named = namedHere(envFrom.filter((name) => name !== 'none'))
  for (const name of named.missing) out.note(`--env-from: ${name} is not set here`)
  let kernels: Promise<Kernels | string> | undefined
  const ask = () => (kernels ??= kernelsHere(context, given))
  const own = envFrom.includes('none') ? [] : await activated(out, command, ask)
  await warnOfFiles(out, given.upload === undefined ? command : [], ask)
  const copied = [...new Set([...own, ...named.names])].filter((name) => !taken.has(name))
  if (copied.length === 0) return given
  return { ...given, env: [...copied.map((name): [string, string] => [name, process.env[name]!]), ...env] }
}

/** Finds the variables with these names or beginnings. The server's own are not copied. */
function namedHere(wanted: readonly string[]): { names: string[]; missing: string[] } {
  const names = Object.keys(process.env).filter((name) => !name.startsWith('REPRISE_'))
  const matches = (want: string) =>
    names.filter((name) => (want.endsWith('*') ? name.startsWith(want.slice(0, -1)) : name === want))
  return { names: wanted.flatMap(matches), missing: wanted.filter((want) => matches(want).length === 0) }
}

/** Returns the variables of the activated environment, if kernels can use it. */
async function activated(
  out: Context['out'],
  command: readonly string[],
  ask: () => Promise<Kernels | string>,
): Promise<string[]> {
  const { VIRTUAL_ENV, CONDA_PREFIX, LOADEDMODULES } = process.env
  const root = VIRTUAL_ENV || CONDA_PREFIX || null
  if (root === null && !LOADEDMODULES) return []
  const kernels = await ask()
  const programs = root === null ? [] : [root, join(root, 'bin', 'python'), programBelow(root, command[0])]
  const fault = typeof kernels === 'string' ? kernels : unreachableOf(programs, kernels)
  if (fault === null) {
    if (root !== null) out.note(out.notes.style('dim', `with the environment ${root}`))
    return INHERITED.filter((name) => process.env[name])
  }
  if (root !== null && programBelow(root, command[0]) !== null)
    out.note(`the environment ${root} is not used: ${fault}`)
  return []
}

/** Returns the program's path if the PATH leads to one of this environment. */
function programBelow(root: string, program: string | undefined): string | null {
  if (program === undefined) return null
  const places = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, program))
  const found = program.includes('/') ? resolve(program) : places.find((each) => existsSync(each))
  return found?.startsWith(root + sep) === true && existsSync(found) ? found : null
}

/** Prints which files of the command kernels cannot reach, although they run on this machine. */
async function warnOfFiles(out: Context['out'], command: readonly string[], ask: () => Promise<Kernels | string>) {
  const paths = command.map((word, at) => (at === 0 && word.includes('/') ? resolve(word) : word))
  const strictest = { namespaces: true, otherUser: true }
  for (const path of new Set(paths.filter((each) => isAbsolute(each) && existsSync(each)))) {
    if (unreachable(path, strictest) === null) continue
    const kernels = await ask()
    const fault = typeof kernels === 'string' ? null : unreachable(path, kernels)
    if (fault !== null) out.note(`${path} will not be found: ${fault}, or send it with --upload`)
  }
}

/** How the kernels of this machine see its files. */
interface Kernels {
  /** They have their own temporary directories. */
  namespaces: boolean
  /** They run as another user than this process. */
  otherUser: boolean
}

const COPY = '--env-from PATH,VIRTUAL_ENV uses it nevertheless, if the same directory exists there'

/** Returns how the kernels see the files of this machine, or why the session will not run here. */
async function kernelsHere({ client, server, signal }: Context, { resourceGroup }: Options): Promise<Kernels | string> {
  const here = machineIdentity()
  const there = await identityOf(server.urls[0], signal)
  if (here === null || there?.machine !== here.machine) return `the server is on another machine. ${COPY}`
  const live = []
  for await (const agent of client.agents(undefined, { signal })) {
    const isWanted = resourceGroup === undefined || agent.resourceGroup.name === resourceGroup
    if (isWanted && ['ALIVE', 'SUSPECT'].includes(agent.status)) live.push(agent)
  }
  const [agent, ...others] = live.toSorted((a, b) => Number(b.embedded) - Number(a.embedded))
  if (agent === undefined) return `no agent is alive. ${COPY}`
  const other = agent.embedded ? others[0] : agent
  if (other !== undefined) return `the session may run on agent ${other.name}, which may be on another machine. ${COPY}`
  const isolation = agent.isolation ?? ''
  if (!/^(none|user|namespaces(\+user)?)$/.test(isolation))
    return `agent ${agent.name} runs no processes of this machine`
  const otherUser = isolation.endsWith('user') || there.account !== here.account
  return { namespaces: isolation.startsWith('namespaces'), otherUser }
}

const ANSWER_WITHIN_MS = 3_000

async function identityOf(url: URL | undefined, signal: AbortSignal): Promise<Partial<MachineIdentity> | null> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)])
    return (await (await fetch(new URL('readyz', url), { signal: limited })).json()) as Partial<MachineIdentity>
  } catch {
    return null
  }
}

function unreachableOf(paths: readonly (string | null)[], kernels: Kernels): string | null {
  const faults = paths.map((path) => (path === null || !existsSync(path) ? null : unreachable(path, kernels)))
  return faults.find((fault) => fault !== null) ?? null
}

const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm', '/run']

/** Returns why kernels cannot reach it, and what to do; null if they can. */
function unreachable(path: string, { namespaces, otherUser }: Kernels): string | null {
  const all = [path, realpathSync(path)]
  const own = TEMPORARY.find((directory) => all.some((each) => each.startsWith(directory + sep)))
  if (namespaces && own !== undefined) return `kernels have their own ${own}. Move it to another directory`
  const closed = otherUser ? all.flatMap(ancestors).find((each) => (statSync(each).mode & 0o001) === 0) : undefined
  if (closed === undefined) return null
  return `kernels run as another user, who may not enter ${closed}. Move it to a directory that everybody may enter`
}

/** Lists the directories above, and itself if it is one; from outer to inner, without the root. */
function ancestors(path: string): string[] {
  const above = statSync(path).isDirectory() ? [path] : []
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.unshift(at)
  return above
}
