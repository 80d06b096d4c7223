import { RepriseError } from '../../domain/errors.ts'
import {
  announceChannel,
  type ChannelKernel,
  readChannelKernels,
  withdrawChannel,
} from '../../store/sql/agent/channels.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { requireSessionId } from '../session/read-sessions.ts'
import { z } from 'zod'
import {
  type ChannelControl,
  type ChannelMessage,
  type ChannelOpening,
  type ChannelPort,
  type ChannelRequest,
  type ExecRequest,
  parseControl,
} from '../../domain/agent/channel-protocol.ts'
import {
  CHANNEL_COMMAND_BYTES_MAX,
  CHANNEL_COMMAND_NOTED_LENGTH_MAX,
  CHANNEL_COMMAND_WORDS_MAX,
  CHANNEL_IDLE_MS,
  CHANNEL_LIFETIME_MS,
  CHANNEL_OPENED_WITHIN_MS,
  CHANNEL_REQUEST_WITHIN_MS,
  TERMINAL_SIDE_MAX,
} from '../../domain/limits.ts'
import { execBytes } from '../../domain/session/session-spec.ts'
import { parseInput } from '../input/parse-input.ts'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../store/new-id.ts'
import { toStorableText } from '../../domain/storable-text.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import type { ChannelHolders } from '../../channel/channel-holders.ts'

/** A running kernel, on an agent that answers. */
export interface ChannelTarget {
  sessionId: string
  projectId: string
  kernelId: string
  kernelName: string
  assignment: number
  agentId: string
  agentName: string
}

/**
 * Finds the kernel of a session for a channel. No further right is needed: a viewer who may change a session could have
 * its program do the same.
 *
 * @param name `main1`, …; the first kernel if it is missing
 * @throws RepriseError FORBIDDEN, SESSION_NOT_FOUND, KERNEL_NOT_FOUND, SESSION_NOT_RUNNING, CHANNEL_NOT_OPENED
 */
export async function findChannelKernel(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  { sessionId, name }: { sessionId: string; name: string | null },
): Promise<ChannelTarget> {
  assertMayChange(viewer)
  requireSessionId(sessionId)
  const kernels = await readChannelKernels(db, sessionId, viewer.projectId)
  const [first] = kernels
  if (first === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  const kernel = name === null ? first : kernels.find((each) => each.name === name)
  if (kernel === undefined) {
    const names = kernels.map((each) => each.name).join(', ')
    throw new RepriseError('KERNEL_NOT_FOUND', `no kernel ${name!.slice(0, 100)} of this session, but ${names}`)
  }
  return { sessionId, ...placeOf(sessionId, kernel) }
}

const side = z.int().min(1).max(TERMINAL_SIDE_MAX)
const word = z.string().refine((text) => !text.includes('\0'), 'must not contain NUL')

const schema = z.object({
  type: z.literal('open'),
  command: z
    .array(word)
    .min(1)
    .max(CHANNEL_COMMAND_WORDS_MAX)
    .refine(
      (words) => execBytes(words) <= CHANNEL_COMMAND_BYTES_MAX,
      `must take at most ${CHANNEL_COMMAND_BYTES_MAX} bytes`,
    )
    .refine(([program]) => program !== '', 'must begin with a program'),
  tty: z.boolean().default(false),
  term: z
    .string()
    .regex(/^[\w.+-]{1,64}$/, 'must be the name of a kind of terminal')
    .default('xterm'),
  columns: side.default(80),
  rows: side.default(24),
})

interface ChannelContext extends Pick<ServiceContext, 'db' | 'viewer' | 'wake' | 'log'> {
  holders: ChannelHolders
  /** The address at which agents reach this server; null if none is configured. */
  url: string | null
}

/** The record of a channel, written to the audit log at its end. */
interface Account {
  exitCode?: number | null
  reason?: string
  bytesIn: number
  bytesOut: number
}

const CHECK_MS = 5_000

/**
 * Serves a channel from the client's request to its end. The agent is notified through the database, so it may be
 * connected to any server; it then connects to this server. Messages of both sides are forwarded one at a time, so that
 * a slow side slows the other one down.
 *
 * @param port the port of a connection; null for a command, which the client names first
 */
export async function serveClient(
  context: ChannelContext,
  target: ChannelTarget,
  client: ChannelPort,
  port: number | null,
): Promise<void> {
  const began = performance.now()
  const account: Account = { bytesIn: 0, bytesOut: 0 }
  const inbox = holdMessages(client, port === null)
  let action: string | null = null
  try {
    const request = port === null ? await readRequest(client, inbox) : ({ kind: 'connect', port } as const)
    if (request === null) return
    action = `session.${request.kind}`
    await noteAudit(context, target, action, wordsOf(request))
    const agent = await awaitAgent(context, target, client)
    if (agent === null) return
    void agent.send(JSON.stringify(openingOf(target, request)))
    await relay({ client, agent, inbox, account })
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error
    account.reason ??= error.message
    const failed: ChannelControl = { type: 'failed', code: error.code, message: error.message }
    await client.send(JSON.stringify(failed))
  } finally {
    client.close(1000, '')
    inbox.pass(() => {})
    const seconds = Math.round(performance.now() - began) / 1000
    if (action !== null) {
      await noteAudit(context, target, `${action}.ended`, { ...account, seconds }).catch((error: unknown) =>
        context.log.warn(
          { err: error, sessionId: target.sessionId },
          'the end of a channel could not be recorded in the audit log',
        ),
      )
    }
  }
}

function placeOf(sessionId: string, kernel: ChannelKernel): Omit<ChannelTarget, 'sessionId'> {
  const { projectId, sessionStatus, kernelId, name: kernelName, status, assignment, agentId, agentName } = kernel
  if (sessionStatus !== 'RUNNING' || status !== 'RUNNING' || agentId === null || agentName === null) {
    const what = sessionStatus === 'RUNNING' ? `kernel ${kernelName} is ${status}` : `it is ${sessionStatus}`
    throw new RepriseError('SESSION_NOT_RUNNING', `session ${sessionId} does not run: ${what}`)
  }
  if (kernel.agentStatus === 'LOST')
    throw new RepriseError('CHANNEL_NOT_OPENED', `its agent ${agentName} has not been heard from lately`)
  return { projectId, kernelId, kernelName, assignment, agentId, agentName }
}

/**
 * Parses the client's first message about a command.
 * @throws RepriseError VALIDATION_FAILED
 */
function readExecRequest(message: ChannelMessage): ExecRequest {
  const { type: _, ...request } = parseInput(schema, typeof message === 'string' ? parseControl(message) : null)
  return { kind: 'exec', ...request }
}

interface Inbox {
  first: Promise<ChannelMessage>
  /** Forwards messages to `take`; until then they wait. */
  pass(take: (message: ChannelMessage) => Promise<void> | void): void
}

function holdMessages(port: ChannelPort, withRequest: boolean): Inbox {
  const first = Promise.withResolvers<ChannelMessage>()
  const given = Promise.withResolvers<(message: ChannelMessage) => Promise<void> | void>()
  let isFirst = withRequest
  port.receive(async (message) => {
    if (!isFirst) return (await given.promise)(message)
    isFirst = false
    first.resolve(message)
  })
  return { first: first.promise, pass: given.resolve }
}

/** Reads the client's request; null if the client has left. */
async function readRequest(client: ChannelPort, { first }: Inbox): Promise<ChannelRequest | null> {
  const late = sleep(CHANNEL_REQUEST_WITHIN_MS, undefined, { ref: false })
  const message = await Promise.race([first, client.closed.then(() => null), late])
  if (message === undefined) throw new RepriseError('REQUEST_TIMEOUT', 'the client has not sent its request')
  return message === null ? null : readExecRequest(message)
}

/**
 * Waits for the agent's connection; null if the client has left.
 * @throws RepriseError CHANNEL_NOT_OPENED
 */
async function awaitAgent(
  { db, wake, holders, url }: ChannelContext,
  { agentId, agentName }: ChannelTarget,
  client: ChannelPort,
): Promise<ChannelPort | null> {
  const channelId = newId()
  const secret = randomBytes(32).toString('base64url')
  const expected = holders.expect({ channelId, secret })
  try {
    await announceChannel(db, { channelId, agentId, secret, url, withinMs: CHANNEL_OPENED_WITHIN_MS })
    wake.wakeAgents([agentId])
    const late = sleep(CHANNEL_OPENED_WITHIN_MS, undefined, { ref: false })
    const agent = await Promise.race([expected.agent, client.closed.then(() => null), late])
    if (agent !== undefined) return agent
    const advice =
      url === null ? 'set REPRISE_ADVERTISED_URL if there are several servers' : `it was given the address ${url}`
    const message = `the agent ${agentName} has not connected to this server within ${CHANNEL_OPENED_WITHIN_MS / 1000} s; ${advice}`
    throw new RepriseError('CHANNEL_NOT_OPENED', message)
  } finally {
    expected.stop()
    await withdrawChannel(db, channelId)
  }
}

function openingOf({ kernelId, assignment }: ChannelTarget, request: ChannelRequest): ChannelOpening {
  return { type: 'open', kernelId, assignment, request }
}

/**
 * Forwards messages until one of the two sides leaves.
 * @throws RepriseError CHANNEL_LOST
 */
async function relay(ends: { client: ChannelPort; agent: ChannelPort; inbox: Inbox; account: Account }): Promise<void> {
  const { client, agent, inbox, account } = ends
  const began = performance.now()
  let heardAt = began
  let over = false
  inbox.pass((message) => {
    heardAt = performance.now()
    if (typeof message !== 'string') account.bytesIn += message.length - 1
    return agent.send(message)
  })
  agent.receive((message) => {
    heardAt = performance.now()
    if (typeof message !== 'string') account.bytesOut += message.length - 1
    else over = noteEnd(message, account) || over
    return client.send(message)
  })
  const tooLong = Promise.withResolvers<string>()
  const checks = setInterval(() => {
    const now = performance.now()
    if (now - heardAt > CHANNEL_IDLE_MS) tooLong.resolve(`nothing came for ${CHANNEL_IDLE_MS / 1000} s`)
    if (now - began > CHANNEL_LIFETIME_MS) tooLong.resolve(`it was open for ${CHANNEL_LIFETIME_MS / 1000} s`)
  }, CHECK_MS)
  try {
    const left = client.closed.then(({ reason }) => reason || 'the client has left')
    const lost = agent.closed.then(({ reason }) => ({ reason }))
    const end = await Promise.race([left, lost, tooLong.promise])
    if (over) return
    if (typeof end === 'string') account.reason = end
    if (typeof end !== 'string') {
      throw new RepriseError('CHANNEL_LOST', end.reason || 'the connection to the agent broke')
    }
    if (account.reason?.startsWith('the client') !== true) await client.send(JSON.stringify(lostBecause(end)))
  } finally {
    clearInterval(checks)
    agent.close(1000, '')
  }
}

function lostBecause(message: string): ChannelControl {
  return { type: 'failed', code: 'CHANNEL_LOST', message }
}

/** @returns whether the message reports how the channel ended */
function noteEnd(message: string, account: Account): boolean {
  const control = parseControl(message) as ChannelControl | null
  if (control?.type === 'ended') account.exitCode = control.exitCode
  if (control?.type === 'failed') account.reason = control.message
  return control?.type === 'ended' || control?.type === 'failed'
}

function wordsOf(request: ChannelRequest): object {
  if (request.kind === 'connect') return { port: request.port }
  const command = toStorableText(request.command.join(' ').slice(0, CHANNEL_COMMAND_NOTED_LENGTH_MAX))
  return { command, tty: request.tty }
}

async function noteAudit(
  { db, viewer }: Pick<ChannelContext, 'db' | 'viewer'>,
  { projectId, sessionId, kernelName }: ChannelTarget,
  action: string,
  details: object,
): Promise<void> {
  const words = 'reason' in details ? { ...details, reason: toStorableText(String(details.reason)) } : details
  const entry = { actor: actorOf(viewer), action, projectId, sessionId, details: { kernel: kernelName, ...words } }
  await recordAudit(db, entry)
}
