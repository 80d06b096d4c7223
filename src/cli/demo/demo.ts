import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters, styleText } from 'node:util'
import { createClient, hasEnded, type NodeClient } from '../../client/node/index.ts'
import { messageOf } from '../../observability/error-message.ts'
import { listenForStop } from '../../observability/process-events.ts'
import { loginAddress } from '../ui.ts'
import { exitStatus } from '../exit-codes.ts'
import { terminalOf } from '../output/terminal.ts'
import { type Attempt, CASES, checkCase, drawChain, readChain } from './cases.ts'
import {
  findLastingLeftovers,
  killAll,
  killLeftovers,
  readAdminToken,
  type ServerProcess,
  startServer,
} from './server-process.ts'

const DEADLINE_MS = 55_000
const POLL_MS = 250
/** How long the server stays dead; running kernels must not be affected. */
const DEAD_MS = 1_000

interface Running {
  client: NodeClient
  /** First session of each case, by the case's name. */
  sessions: Map<string, string>
}

/** Runs the demo; returns the exit status. Ctrl-C ends it at once, at any step. */
export async function runDemo(options: { verbose: boolean; stay: boolean }): Promise<number> {
  const began = performance.now()
  const interrupted = new AbortController()
  const { signal } = interrupted
  const stopListening = listenForStop(() => interrupted.abort())
  const stage: Stage = { dataDir: await mkdtemp(join(tmpdir(), 'reprise-demo-')), server: undefined, stayed: false }
  const onLog = (line: string) => options.verbose && console.error(styleText('dim', line))
  const faults = await Promise.race([play(stage, { stay: options.stay, onLog, signal }), aborted(signal)])
  faults.push(...(signal.aborted ? await clearAway(stage) : await cleanUp(stage)))
  stopListening()
  if (signal.aborted && !stage.stayed) {
    print('interrupted: everything has been stopped and removed')
    return exitStatus('INTERRUPTED')
  }
  for (const fault of faults) console.error(styleText('red', wrapped(`demo failed: ${fault}`, 2)))
  if (faults.length > 0) return 1
  print(styleText('green', `everything as expected, in ${seconds(performance.now() - began)}`))
  if (!options.stay) for (const line of NEXT) console.log(line)
  return 0
}

const NEXT = [
  '',
  'What to do next:',
  '  npm start                   a server of your own; then, in another terminal:',
  '  npx reprise run --retries 3 -- ~/work.sh',
  '  npx reprise ui              the web UI, in a browser',
  '  npm run demo -- --stay      the demo again; its server stays, so that you can look at it',
  'README.md has a tour, and docs/ has everything else.',
]

/** Resources of the demo that have to be removed. */
interface Stage {
  readonly dataDir: string
  server: ServerProcess | undefined
  /** Whether the demo has ended and its server stays, so that the user can look at it. */
  stayed: boolean
}

interface Direction {
  stay: boolean
  onLog: (line: string) => void
  signal: AbortSignal
}

async function aborted(signal: AbortSignal): Promise<string[]> {
  if (!signal.aborted) await once(signal, 'abort')
  return []
}

/** Plays the demo; returns the deviations from the expected results. */
async function play(stage: Stage, { stay: stays, onLog, signal }: Direction): Promise<string[]> {
  const { dataDir } = stage
  const faults: string[] = []
  try {
    signal.throwIfAborted()
    stage.server = await startServer({ dataDir, port: 0, onLog })
    const { url, readyAfterMs } = stage.server
    print(`server ready at ${url} after ${seconds(readyAfterMs)}, data in ${dataDir}`)
    const token = await readAdminToken(dataDir)
    const access = { urls: [new URL(url)], token }
    await printWhereToLook(access)
    await using client = createClient({ url, token })
    // Ctrl-C stops the server too, and calls would wait for it to come back.
    signal.addEventListener('abort', () => void client.close(), { once: true })
    const running = { client, sessions: new Map<string, string>() }
    const beginning = await client.eventCursor()
    await submitAll(running)
    const ended = new AbortController()
    const silent = AbortSignal.any([ended.signal, signal])
    const printing = printEvents(running, beginning, silent).catch((error) => void faults.push(messageOf(error)))
    const chains = await act(running, signal, async () => {
      await stage.server!.kill()
      print(styleText('red', 'the server was killed with SIGKILL'))
      stage.server = undefined
      await sleep(DEAD_MS)
      signal.throwIfAborted()
      stage.server = await startServer({ dataDir, port: Number(new URL(url).port), onLog })
      const after = seconds(stage.server.readyAfterMs)
      print(styleText('green', `the server is back after ${after}, on the same data`))
    }).finally(() => ended.abort())
    await printing
    faults.push(...CASES.flatMap((demoCase) => checkCase(demoCase, chains.get(demoCase.name)!)))
    summarise(chains)
    await bringBack(running, chains)
    if (stays && !signal.aborted) {
      stage.stayed = true
      await stay(access, dataDir, signal)
    }
  } catch (error) {
    faults.push(messageOf(error))
  }
  return faults
}

/** Prints where to find the results. A server without a web UI has no address for it, and only the server is shown. */
async function printWhereToLook(access: { urls: URL[]; token: string }): Promise<void> {
  const address = await loginAddress(access).catch(() => null)
  if (address !== null) {
    print('in a browser (this address works once, within a minute):')
    console.log(`  ${address}`)
  }
}

async function stay(access: { urls: URL[]; token: string }, dataDir: string, signal: AbortSignal): Promise<void> {
  await printWhereToLook(access)
  const { href } = access.urls[0]!
  print('the server stays until you press Ctrl-C; to get another address:')
  console.log(`  REPRISE_DATA_DIR=${dataDir} npx reprise ui --url ${href}`)
  await aborted(signal)
}

async function submitAll({ client, sessions }: Running): Promise<void> {
  for (const { name, about, input } of CASES) {
    const { session } = await client.createSession({ name, creationId: `demo-${name}`, ...input })
    sessions.set(name, session.sessionId)
    print(`submitted ${styleText('bold', name)}: ${about}`)
  }
}

/** Prints each retry event with the present state of its chain, across reconnects. */
async function printEvents({ client, sessions }: Running, after: string, signal: AbortSignal): Promise<void> {
  const names = new Map([...sessions].map(([name, sessionId]) => [sessionId, name]))
  try {
    for await (const event of client.retryEvents({}, { after, signal })) {
      const name = names.get(event.chainId) ?? event.chainId
      print(`${styleText('bold', event.type)} ${name}: ${event.reason ?? ''}`)
      const chain = await readChain(client, event.sessionId).catch(() => undefined)
      if (chain) console.log(drawChain(name, chain))
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/**
 * Plays the parts of people: one cancels a session, another kills the server. Returns the chains when all have ended.
 */
async function act(
  { client, sessions }: Running,
  signal: AbortSignal,
  crash: () => Promise<void>,
): Promise<Map<string, Attempt[]>> {
  const deadline = performance.now() + DEADLINE_MS
  let cancelled = false
  let crashed = false
  for (;;) {
    if (signal.aborted) throw new Error('interrupted')
    const chains = new Map<string, Attempt[]>()
    for (const [name, sessionId] of sessions) chains.set(name, await readChain(client, sessionId))
    const runs = (name: string) => chains.get(name)!.at(-1)!.status === 'RUNNING'
    if (!cancelled && runs('cancelled')) {
      cancelled = true
      await cancel(client, sessions.get('cancelled')!)
    }
    if (!crashed && cancelled && runs('survivor') && runs('primes')) {
      crashed = true
      await crash()
      continue
    }
    if (crashed && [...chains.values()].every(hasEnded)) {
      await sleep(POLL_MS)
      return chains
    }
    if (performance.now() > deadline) {
      const open = [...chains].filter(([, chain]) => !hasEnded(chain)).map(([name, chain]) => drawChain(name, chain))
      throw new Error(`not all ended within ${DEADLINE_MS / 1000} s:\n${open.join('\n')}`)
    }
    await sleep(POLL_MS)
  }
}

async function cancel(client: NodeClient, sessionId: string): Promise<void> {
  await client.terminateSession(sessionId, { reason: 'somebody changed their mind' })
  print('a person cancelled the session `cancelled`')
}

function summarise(chains: ReadonlyMap<string, Attempt[]>): void {
  print('how they ended:')
  for (const [name, chain] of chains) console.log(drawChain(name, chain))
}

/** Downloads the result of the chain that was retried into the user's directory. */
async function bringBack({ client }: Running, chains: ReadonlyMap<string, Attempt[]>): Promise<void> {
  const { sessionId, attempt } = chains.get('primes')!.at(-1)!
  await client.waitForOutputs(sessionId)
  await client.downloadOutputs(sessionId, { to: process.cwd(), force: true })
  const text = (await readFile(RESULT, 'utf8')).trim()
  print(`${styleText('bold', RESULT)} is here now, as attempt ${attempt} of primes wrote it: ${text}`)
}

/** The output of `primes`. */
const RESULT = 'primes.txt'

/** Removes the demo's data; returns processes and files that a clean end should not have left behind. */
async function cleanUp({ server, dataDir }: Stage): Promise<string[]> {
  const faults: string[] = []
  const status = await server?.stop()
  if (status !== undefined && status !== 0) faults.push(`the server ended with ${status} on SIGTERM`)
  const leftovers = await findLastingLeftovers(dataDir)
  if (leftovers.length > 0) faults.push(`left running: ${leftovers.join(', ')}`)
  killAll(leftovers)
  await removeData(dataDir)
  return faults
}

/** Stops and removes everything at once: after Ctrl-C no orderly end is needed. */
async function clearAway({ server, dataDir }: Stage): Promise<string[]> {
  print('stopping')
  // The processes of the demo can be found only on Linux.
  if (process.platform !== 'linux') await server?.stop()
  await killLeftovers(dataDir)
  await removeData(dataDir)
  return []
}

function removeData(dataDir: string): Promise<void> {
  return rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}

/** Columns of the time and the space after it. */
const TIME_COLUMNS = 14

function print(text: string): void {
  console.log(wrapped(`${styleText('dim', new Date().toISOString().slice(11, 23))}  ${text}`, TIME_COLUMNS))
}

/** Wraps lines at the terminal's width; a file gets whole lines. */
function wrapped(text: string, indent: number): string {
  const { columns } = terminalOf(process.stdout)
  return columns === undefined ? text : wrapText(text, columns, indent)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** Breaks lines at spaces so that they fit into the columns; lines after a break are indented. */
function wrapText(text: string, columns: number, indent: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, columns, indent))
    .join('\n')
}

function wrapLine(line: string, columns: number, indent: number): string {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(/(?<=\S) +(?=\S)/)) {
    const longer = current === '' ? word : `${current} ${word}`
    if (current !== '' && widthOf(longer) > columns) {
      lines.push(current)
      current = ' '.repeat(indent) + word
    } else current = longer
  }
  return [...lines, current].join('\n')
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}
