import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { ApiError, createClient, type Client, type CreateSessionInput } from '../../src/client/node/index.ts'
import { randomOf, type Random } from '../support/random.ts'
import { KINDS, sessionOf } from './kernel.ts'
import type { Terms } from './terms.ts'
import { now, recorder, type ClientCall, type ClientRecord, type EventRecord, type SeenAttempt } from './records.ts'

/**
 * `clients-program.ts <options as JSON>`: clients and subscribers of a storm. They record what they send before they
 * send it, and what they receive. At `end` on standard input they begin nothing new; at `read` they read everything once
 * more, and the program ends when the subscribers have received everything.
 */

export interface ClientsOptions {
  urls: string[]
  token: string
  records: string
  /** Where kernels write their lines. */
  lines: string
  seed: number
  clients: number
  /** Sessions that each client makes at the most, and how many of its chains may be under way. */
  sessionsMax: number
  openMax: number
  /** The machine's uptime, where kernels find it. */
  uptime: string
  terms: Terms
}

const SUBSCRIBERS = 2
const START_OF_TIME = btoa('0:0').replaceAll('=', '')
/** Calls are given up then: their outcome is unknown. */
const CALL_TIMEOUT_SECONDS = 15
const PAUSE_MAX_MS = 500
/** After all has ended: what has not come by then does not come. */
const RECEIVED_WITHIN_MS = 60_000

const CHAIN = `query ($id: UUID!) { session(id: $id) { retryChain { sessionId attempt status result exitCode epoch
  retryState { phase } kernels { kernelId } } } }`

interface ReadAttempt extends SeenAttempt {
  epoch: number
  retryState: { phase: string }
  kernels: { kernelId: string }[]
}

const options = JSON.parse(process.argv[2]!) as ClientsOptions
const ending = new AbortController()
const over = new AbortController()
/** The first line ends the work, the second says that everything has ended. */
const mayRead = Promise.withResolvers<void>()
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'end') ending.abort()
  if (line === 'read') mayRead.resolve()
})
process.stdin.on('close', () => process.exit(1))

function connect(): Client {
  return createClient({
    urls: options.urls,
    token: options.token,
    // In moved time a limit of less would leave an answer no time, see `moved/moved-clock.ts`.
    ...(options.terms.stepSeconds > 0 && { timeouts: { connectSeconds: 30, readSeconds: 60 } }),
    // Lines and servers are away for moments only: look often.
    retry: {
      network: { minSeconds: 0.2, maxSeconds: 1, stopAfterSeconds: options.terms.clientPatienceSeconds },
      reconnect: { maxSeconds: 1 },
    },
  })
}

/** One client, which has chains of its own. */
async function work(number: number, random: Random): Promise<void> {
  await using client = connect()
  const record = recorder<ClientRecord>(join(options.records, `client-${number}.ndjson`))
  const chains = new Map<string, boolean>()
  let calls = 0
  let made = 0

  async function call(
    asked: { call: ClientCall; creationId?: string; sessionId?: string; clientKey?: string; linkOf?: number },
    send: (signal: AbortSignal) => Promise<Partial<Extract<ClientRecord, { kind: 'answered' }>>>,
  ): Promise<Partial<Extract<ClientRecord, { kind: 'answered' }>> | null> {
    const id = ++calls
    record({ kind: 'asked', number: id, at: now(), ...asked })
    try {
      const answer = await send(AbortSignal.timeout(CALL_TIMEOUT_SECONDS * 1000))
      record({ kind: 'answered', number: id, at: now(), outcome: 'done', ...answer })
      return answer
    } catch (error) {
      const outcome = error instanceof ApiError ? 'refused' : 'unknown'
      record({ kind: 'answered', number: id, at: now(), outcome, message: (error as Error).message.slice(0, 300) })
      return null
    }
  }

  async function create(input: CreateSessionInput & { creationId: string }): Promise<void> {
    const { creationId } = input
    const answer = await call({ call: 'create', creationId }, async (signal) => {
      const { session } = await client.createSession(input, { signal })
      return { sessionId: session.sessionId, epoch: session.epoch }
    })
    if (answer?.sessionId !== undefined) chains.set(answer.sessionId, false)
  }

  async function createSome(): Promise<void> {
    const inputs = Array.from({ length: 1 + random.below(3) }, () => ({
      ...sessionOf(random.pick(KINDS), { lines: options.lines, uptime: options.uptime, terms: options.terms, random }),
      creationId: uuidv7(),
    }))
    made += inputs.length
    // One in five is sent twice, at once or one after the other, as by a client that has lost its answer.
    const twice = inputs.filter(() => random.chance(0.2))
    await Promise.all([...inputs, ...twice.slice(1)].map(create))
    await Promise.all(twice.slice(0, 1).map(create))
  }

  /** @returns null without an answer; none, if the chain has been removed */
  async function read(chainId: string): Promise<ReadAttempt[] | null> {
    let seen: ReadAttempt[] | null = null
    await call({ call: 'read', sessionId: chainId }, async (signal) => {
      const { session } = await client.request<{ session: { retryChain: ReadAttempt[] } | null }>(
        CHAIN,
        { id: chainId },
        { signal },
      )
      seen = session?.retryChain ?? []
      if (session === null) return { isGone: true }
      const attempts = seen.map(({ sessionId, attempt, status, result, exitCode }) => ({
        sessionId,
        attempt,
        status,
        result,
        exitCode,
      }))
      return { attempts }
    })
    const tail = (seen as ReadAttempt[] | null)?.at(-1)
    if (tail !== undefined) chains.set(chainId, isOver(tail))
    else if (seen !== null) chains.delete(chainId)
    return seen
  }

  /** Of a download of a kernel's output. */
  let link: { url: string; number: number } | null = null

  async function askForLink(kernelId: string): Promise<void> {
    const base = random.pick(options.urls)
    const answer = await call({ call: 'link' }, async (signal) => {
      const to = new URLSearchParams({ to: `/v2/kernels/${kernelId}/log` })
      const headers = { Authorization: `Bearer ${options.token}` }
      const response = await fetch(`${base}/ui/link?${to}`, { method: 'POST', headers, signal })
      if (!response.ok) return { outcome: 'refused', httpStatus: response.status }
      const { link: path } = (await response.json()) as { link: string }
      link = { url: `${base}${path}`, number: calls }
      return {}
    })
    if (answer === null) link = null
  }

  async function followLink({ url, number: linkOf }: { url: string; number: number }): Promise<void> {
    link = null
    await call({ call: 'follow', linkOf }, async (signal) => {
      const response = await fetch(url, { signal })
      await response.arrayBuffer()
      return { httpStatus: response.status }
    })
  }

  async function interfere(chainId: string): Promise<void> {
    const tail = (await read(chainId))?.at(-1)
    if (link !== null && random.chance(0.2)) await followLink(link)
    if (tail === undefined) return
    const { sessionId } = tail
    if (link === null && random.chance(0.2)) {
      await askForLink(tail.kernels[0]!.kernelId)
      if (link !== null && random.chance(0.4)) await followLink(link)
    }
    const { phase } = tail.retryState
    const waits = phase === 'SCHEDULED' || phase === 'HELD'
    const ofSession = async (answer: Promise<{ sessionId: string; epoch: number }>) => {
      const { epoch } = await answer
      return { sessionId, epoch }
    }
    if (waits && random.chance(0.3)) {
      await call({ call: 'cancelRetry', sessionId }, (signal) => ofSession(client.cancelRetry(sessionId, { signal })))
    } else if (waits && random.chance(0.4)) {
      await call({ call: 'retryNow', sessionId }, (signal) => ofSession(client.retryNow(sessionId, { signal })))
    } else if (!isOver(tail) && random.chance(0.25)) {
      const force = random.chance(0.3)
      await call({ call: 'terminate', sessionId }, (signal) =>
        ofSession(client.terminateSession(sessionId, { signal, force })),
      )
    } else if (isOver(tail) && tail.status !== 'TERMINATED' && random.chance(0.6)) {
      const clientKey = uuidv7()
      const times = random.chance(0.3) ? 2 : 1
      const send = () =>
        call({ call: 'resubmit', sessionId, clientKey }, async (signal) => {
          const { sessions } = await client.resubmitSessions(
            { select: { sessionIds: [sessionId] }, clientKey },
            { signal },
          )
          return { sessionId, children: sessions.map((child) => child.sessionId) }
        })
      await Promise.all(Array.from({ length: times }, send))
      chains.set(chainId, false)
    }
  }

  while (!ending.signal.aborted) {
    const open = [...chains].filter(([, isDone]) => !isDone).map(([id]) => id)
    if (made < options.sessionsMax && open.length < options.openMax) await createSome()
    const someone = random.chance(0.6) && open.length > 0 ? random.pick(open) : random.pick([...chains.keys(), ''])
    if (someone !== '') await interfere(someone)
    await sleep(random.below(PAUSE_MAX_MS), undefined, { signal: ending.signal }).catch(() => {})
  }
  await mayRead.promise
  for (const chainId of chains.keys()) while ((await read(chainId)) === null) await sleep(PAUSE_MAX_MS)
}

function isOver({ status, retryState: { phase } }: ReadAttempt): boolean {
  if (status === 'TERMINATED' || status === 'CANCELLED') return phase !== 'UNDECIDED'
  return status === 'ERROR' && !['UNDECIDED', 'SCHEDULED', 'HELD', 'DISPATCHED'].includes(phase)
}

/** The first stays subscribed; the others leave again and again, and come back with their last cursor. */
async function follow(index: number, random: Random): Promise<void> {
  await using client = connect()
  const record = recorder<EventRecord>(join(options.records, `subscriber-${index + 1}.ndjson`))
  while (!over.signal.aborted) {
    const leaving = new AbortController()
    const timer = index === 0 ? undefined : setTimeout(() => leaving.abort(), 1_000 + random.below(9_000))
    const signal = AbortSignal.any([leaving.signal, over.signal])
    try {
      for await (const event of client.sessionEvents({}, { after: received[index]!, signal })) {
        const { cursor, type, sessionId, chainId } = event
        record({ cursor, type, sessionId, chainId })
        received[index] = cursor
      }
    } catch (error) {
      if (!signal.aborted) console.error(`subscriber ${index + 1}: ${(error as Error).message}`)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The last cursor of each subscriber. */
const received = Array.from({ length: SUBSCRIBERS }, () => START_OF_TIME)
const subscribers = received.map((_, index) => follow(index, randomOf(options.seed + 1_000 + index)))
await Promise.all(
  Array.from({ length: options.clients }, (_, index) => work(index + 1, randomOf(options.seed + 100 + index))),
)
await using client = connect()
const newest = (await client.eventPage({}, { last: 1 })).events.at(-1)?.cursor
const deadline = performance.now() + RECEIVED_WITHIN_MS
while (received.some((cursor) => cursor !== newest) && performance.now() < deadline) await sleep(100)
over.abort()
await Promise.all(subscribers)
process.exit(0)
