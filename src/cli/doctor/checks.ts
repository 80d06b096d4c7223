import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import type { IntrospectionQuery } from 'graphql'
import * as operations from '../../client/operations.generated.ts'
import { type Client, ForbiddenError, type FoundServer, readEnvironment } from '../../client/node/index.ts'
import { duration, tokenScope } from '../output/format.ts'
import { tokenOrigin } from '../present-error.ts'
import { takeAll } from '../client-command.ts'
import { checkContainerEngine, type Finding } from './container-engine.ts'

interface Subject {
  client: Client
  server: FoundServer
  environment: NodeJS.ProcessEnv
}

const NODE_MIN = [20, 0]
/** First Node version of a server with an embedded agent, which runs TypeScript without compiling it. */
const NODE_SERVER_MIN = [22, 18]
const SKEW_SECONDS_MAX = 5
const ANSWER_WITHIN_MS = 5_000

/** Yields each finding as soon as it is known. Checks that cannot run are reported as skipped. */
export async function* runChecks(subject: Subject): AsyncGenerator<Finding> {
  yield nodeVersion()
  yield dataDirectory(subject)
  yield await checkContainerEngine(subject.environment)
  const { finding, reachable } = await reachServers(subject)
  yield* finding
  if (!reachable) return
  const token = await checkToken(subject)
  yield token
  if (token.state === 'fault') return
  yield await checkSchema(subject)
  yield* await checkAgents(subject)
}

function nodeVersion(): Finding {
  const what = 'Node'
  const found = process.version
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  const below = ([a, b]: number[]) => major < a! || (major === a! && minor < b!)
  if (below(NODE_MIN)) return { what, state: 'fault', found, advice: 'Version 20 or later is needed.' }
  if (!below(NODE_SERVER_MIN)) return { what, state: 'ok', found }
  return { what, state: 'warning', found, advice: 'Suitable for a client; a server needs 22.18 or later.' }
}

function dataDirectory({ environment }: Subject): Finding {
  const { dataDir } = readEnvironment(environment, () => {})
  const what = `data directory ${dataDir}`
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return { what, state: 'skipped', found: 'does not exist: no server was started from here' }
    }
    const advice = 'Run this as the owner of the directory, or set REPRISE_DATA_DIR to another directory.'
    return { what, state: 'warning', found: (error as Error).message, advice }
  }
  const mode = statSync(join(dataDir, 'admin-token'), { throwIfNoEntry: false })?.mode
  if (mode === undefined) return { what, state: 'ok', found: 'exists, without an admin token' }
  if ((mode & 0o077) === 0) return { what, state: 'ok', found: 'exists, with its admin token' }
  const advice = `chmod 600 ${join(dataDir, 'admin-token')}`
  return { what, state: 'fault', found: 'other users can read its admin token', advice }
}

const ORIGIN_WORDS = {
  options: 'from options',
  environment: 'from environment',
  profile: 'from profile',
  directory: 'from the data directory',
  local: 'the default',
} as const

async function reachServers({ server }: Subject): Promise<{ finding: Finding[]; reachable: boolean }> {
  const findings: Finding[] = []
  let reachable = false
  for (const url of server.urls) {
    const ready = await ask(new URL('readyz', url))
    const what = `server ${url.href} (${ORIGIN_WORDS[server.source]})`
    if (ready instanceof Error) {
      const advice =
        'Start it with `reprise serve`, or give the address of another with --url, REPRISE_URL or a profile.'
      findings.push({ what, state: 'fault', found: ready.message, advice })
      continue
    }
    reachable = true
    findings.push(readiness(what, ready), ...warnings(ready), transport(url), clockSkew(ready))
  }
  return { finding: findings, reachable }
}

interface Answer {
  status: number
  text: string
  /** Value of the server's `Date` header. */
  date: string | null
  askedAt: number
  answeredAt: number
}

async function ask(url: URL): Promise<Answer | Error> {
  const askedAt = Date.now()
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    const text = (await response.text()).trim()
    return { status: response.status, text, date: response.headers.get('date'), askedAt, answeredAt: Date.now() }
  } catch (error) {
    const { cause, message } = error as Error
    return new Error(cause instanceof Error && cause.message ? cause.message : message)
  }
}

function readiness(what: string, { status, text }: Answer): Finding {
  if (status === 200) return { what, state: 'ok', found: `ready, with its database${wayToDatabase(text)}` }
  if (status !== 503)
    return { what, state: 'fault', found: `responds with ${status}`, advice: 'Is this a Reprise server?' }
  const advice = 'Its database does not respond, or it is about to stop; see its log.'
  return { what, state: 'fault', found: `not ready: ${text}`, advice }
}

/** Returns how the server reaches its database. A server of an earlier version does not report it. */
function wayToDatabase(text: string): string {
  try {
    const { database } = JSON.parse(text) as { database?: string }
    return database === undefined ? '' : ` (${database})`
  } catch {
    return ''
  }
}

/** Returns warnings from the server's start that still apply. Each includes what to do. */
function warnings({ text }: Answer): Finding[] {
  try {
    const { warnings: found = [] } = JSON.parse(text) as { warnings?: string[] }
    return found.map((each) =>
      each.startsWith('the disk of')
        ? { what: 'disk', state: 'fault', found: each }
        : { what: 'warning of the server', state: 'warning', found: each },
    )
  } catch {
    return []
  }
}

function transport({ protocol, hostname }: URL): Finding {
  const what = 'transport'
  if (protocol === 'https:') return { what, state: 'ok', found: 'TLS' }
  const local = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  if (local) return { what, state: 'ok', found: 'without TLS, on this machine' }
  const advice = 'Give the server REPRISE_TLS_CERT_FILE and REPRISE_TLS_KEY_FILE, and use https://.'
  return { what, state: 'warning', found: 'without TLS: tokens and output can be read on the network', advice }
}

/** Compares the clocks with the precision of the `Date` header, one second. */
function clockSkew({ date, askedAt, answeredAt }: Answer): Finding {
  const what = 'clock'
  const theirs = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(theirs)) return { what, state: 'skipped', found: 'the server does not report its time' }
  // The header is truncated to the second.
  const early = (askedAt - (theirs + 1000)) / 1000
  const late = (theirs - answeredAt) / 1000
  const skew = Math.max(0, early, late)
  const found =
    skew === 0 ? 'as the server’s' : `${duration(skew)} ${late > early ? 'behind' : 'ahead of'} the server’s`
  if (skew <= SKEW_SECONDS_MAX) return { what, state: 'ok', found }
  return {
    what,
    state: 'warning',
    found,
    advice: 'Times shown here are wrong by this difference. Set the clocks by NTP.',
  }
}

async function checkToken({ client, server }: Subject): Promise<Finding> {
  const what = 'token'
  try {
    const viewer = await client.viewer()
    const origin = tokenOrigin(server)
    if (!viewer) return { what, state: 'warning', found: `${origin} is valid, but it is not in the database` }
    const end = viewer.expiresAt ? `, until ${viewer.expiresAt}` : ''
    const where = tokenScope(viewer)
    return { what, state: 'ok', found: `${viewer.name}, ${viewer.role} of ${where}${end} (${origin})` }
  } catch (error) {
    const denied = error instanceof ForbiddenError
    const advice = denied
      ? 'Give a valid token with --token or REPRISE_TOKEN, or store one with `reprise login`.'
      : undefined
    return { what, state: 'fault', found: `${tokenOrigin(server)}: ${(error as Error).message}`, advice }
  }
}

async function checkSchema({ client }: Subject): Promise<Finding> {
  const what = 'schema'
  try {
    const unknown = await unknownToServer(client)
    if (unknown.length === 0) return { what, state: 'ok', found: 'the server has everything that this version uses' }
    const advice = `Use the same version of both. The server lacks: ${unknown.slice(0, 3).join('; ')}`
    return { what, state: 'fault', found: `${unknown.length} operations are unknown to the server`, advice }
  } catch (error) {
    return { what, state: 'skipped', found: `the server does not report it: ${(error as Error).message}` }
  }
}

/** Lists operations of this client that do not fit the server's schema. @throws ApiError if introspection is refused */
async function unknownToServer(client: Client): Promise<string[]> {
  // The package is large, and only this check and one command need it.
  const { buildClientSchema, getIntrospectionQuery, parse, validate } = await import('graphql')
  const schema = buildClientSchema(await client.request<IntrospectionQuery>(getIntrospectionQuery()))
  const documents = Object.entries(operations).filter(([name]) => name.endsWith('Document'))
  return documents.flatMap(([name, document]) => {
    const faults = validate(schema, parse(String(document)))
    return faults.length === 0 ? [] : [`${name.replace(/Document$/, '')}: ${faults[0]!.message}`]
  })
}

async function checkAgents({ client }: Subject): Promise<Finding[]> {
  const what = 'agents'
  try {
    const agents = await takeAll(client.agents())
    const count = (status: string) => agents.filter((agent) => agent.status === status).length
    const found = `${count('ALIVE')} alive, ${count('SUSPECT')} suspect, ${count('LOST')} lost, ${count('DRAINING')} draining${isolationsOf(agents)}`
    const refusals = agents.flatMap((agent) => refusalOf(agent))
    if (count('ALIVE') > 0) return [{ what, state: count('SUSPECT') > 0 ? 'warning' : 'ok', found }, ...refusals]
    const advice = 'Nothing can run. Start `reprise agent` somewhere, or a server with the role agent.'
    return [{ what, state: 'fault', found, advice }, ...refusals]
  } catch (error) {
    return [{ what, state: 'skipped', found: (error as Error).message }]
  }
}

/** Creates a finding for each agent that is alive but accepts no new kernels. */
function refusalOf(agent: { name: string; status: string; refuses?: string | null }): Finding[] {
  if (agent.refuses == null || agent.status === 'LOST' || agent.status === 'TERMINATED') return []
  const advice = 'It accepts new kernels again once this has changed; see "Refusing new kernels" in docs/agents.md.'
  return [{ what: `agent ${agent.name}`, state: 'fault', found: `accepts no new kernels: ${agent.refuses}`, advice }]
}

/** Counts the live agents by isolation: `; isolation namespaces 2, none 1`. */
function isolationsOf(agents: readonly { status: string; isolation?: string | null }[]): string {
  const counts = new Map<string, number>()
  for (const { status, isolation } of agents) {
    if (status === 'LOST' || status === 'TERMINATED') continue
    const name = isolation ?? 'unknown'
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const parts = [...counts].map(([name, count]) => `${name} ${count}`)
  return parts.length === 0 ? '' : `; isolation ${parts.join(', ')}`
}
