import { NotFoundError, type Client } from '../client/node/index.ts'
import { take, takeAll } from './client-command.ts'
import { UsageError } from './present-error.ts'

/**
 * Finds the id of an object from an argument: an id, a unique beginning of one (at least 8 digits), or for some kinds a
 * name. Several sessions, deployments or schedules may have the same name; the name then means the newest. A name of
 * several agents or tokens is refused.
 *
 * All finders throw NotFoundError if there is no such object, and UsageError with the candidates if there are several.
 */

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PREFIX = /^[0-9a-f]{8}[0-9a-f-]*$/i

interface Candidate {
  id: string
  /** Name that is shown beside the id if there are several candidates. */
  name?: string | null
}

/** How a kind of object is looked up. */
interface Lookup {
  /** Completes `There is no …`. */
  noun: string
  /** Error code if there is no such object. */
  code: string
  /** Returns objects whose ids begin with the prefix: at least `count` of them, or all. */
  beginning(prefix: string, count: number): Promise<Candidate[]>
  /** Returns the object with this name, for kinds that can be given by name. */
  named?(name: string): Promise<Candidate | undefined>
}

/** Maximum number of candidates in a message: enough to see which one was meant. */
const SHOWN_MAX = 5

export function isId(text: string): boolean {
  return UUID.test(text)
}

export async function findId(text: string, { noun, code, beginning, named }: Lookup): Promise<string> {
  if (isId(text)) return text
  const found = PREFIX.test(text) ? await beginning(text, SHOWN_MAX + 1) : []
  if (found.length > 1) throw ambiguous(text, found)
  const one = found[0] ?? (await named?.(text))
  if (one) return one.id
  throw new NotFoundError(code, `There is no ${noun} with the id${named ? ' or the name' : ''} ${text}.`)
}

function ambiguous(text: string, found: readonly Candidate[]): UsageError {
  const shown = found.slice(0, SHOWN_MAX).map(({ id, name }) => (name ? `${id} (${name})` : id))
  if (found.length > SHOWN_MAX) shown.push('…')
  return new UsageError(`More than one object has an id that begins with ${text} or has this name: ${shown.join(', ')}`)
}

/** Searches a list by prefix, for kinds where the server cannot. */
export function beginningWith(prefix: string, all: readonly Candidate[]): Candidate[] {
  return all.filter(({ id }) => id.startsWith(prefix.toLowerCase()))
}

/** Returns the only candidate with this name. */
function onlyNamed(wanted: string, all: readonly Candidate[]): Candidate | undefined {
  const found = all.filter(({ name }) => name === wanted)
  if (found.length > 1) throw ambiguous(wanted, found)
  return found[0]
}

export const SESSION_ARGUMENT = 'id, its beginning, or name of a session; a name means the newest one'
const NEWEST_FIRST = [{ field: 'CREATED_AT', direction: 'DESC' }] as const

export async function findSession(client: Client, text: string): Promise<string> {
  const find = async (filter: object, first: number) => {
    const { nodes } = await client.sessionPage({ filter, orderBy: [...NEWEST_FIRST], first })
    return nodes.map(({ sessionId, name }) => ({ id: sessionId, name }))
  }
  return findId(text, {
    noun: 'session',
    code: 'SESSION_NOT_FOUND',
    beginning: (idPrefix, count) => find({ idPrefix }, count),
    named: async (name) => (await find({ name: { equals: name } }, 1))[0],
  })
}

/** Finds the ids of all given sessions, in their order. */
export async function findSessions(client: Client, texts: readonly string[] = []): Promise<string[]> {
  return Promise.all(texts.map((text) => findSession(client, text)))
}

/** Finds the id of a chain, from its id or from one of its sessions given as above. */
export async function findChain(client: Client, text: string): Promise<string> {
  const sessionId = await findSession(client, text)
  const filter = isId(text) ? { OR: [{ chainId: text }, { idPrefix: text }] } : { idPrefix: sessionId }
  const { nodes } = await client.sessionPage({ filter, first: 1 })
  // The id of a chain that does not exist is kept: a list filtered by it is empty.
  return nodes[0]?.chainId ?? text
}

/** Finds the newest attempt of the chain of a session, which is the one that a retry waits for. */
export async function findNewestAttempt(client: Client, text: string): Promise<string> {
  const chainId = await findChain(client, text)
  const { items } = await take(client.chains({ filter: { ids: [chainId] } }), 1)
  return items[0]?.newestAttempt.sessionId ?? chainId
}

export const AGENT_ARGUMENT = 'id, its beginning, or name of an agent'

/** Finds the ids of agents; undefined stays undefined. */
export async function findAgents(client: Client, texts: readonly string[] | undefined): Promise<string[] | undefined> {
  if (!texts || texts.every(isId)) return texts && [...texts]
  const agents = (await takeAll(client.agents())).map(({ agentId, name }) => ({ id: agentId, name }))
  const find = (text: string) =>
    findId(text, {
      noun: 'agent',
      code: 'AGENT_NOT_FOUND',
      // The name of an agent may look like the beginning of an id.
      beginning: async (prefix) => (agents.some(({ name }) => name === text) ? [] : beginningWith(prefix, agents)),
      named: async (name) => onlyNamed(name, agents),
    })
  return Promise.all(texts.map(find))
}

export async function findAgent(client: Client, text: string): Promise<string> {
  return (await findAgents(client, [text]))![0]!
}

export const DEPLOYMENT_ARGUMENT = 'id, its beginning, or name of a deployment; a name means the newest one'

export async function findDeployment(client: Client, text: string): Promise<string> {
  const find = async (filter: { idPrefix: string } | { name: { equals: string } }, count: number) => {
    const { items } = await take(client.deployments({ filter }), count)
    return items.map(({ deploymentId, name }) => ({ id: deploymentId, name }))
  }
  return findId(text, {
    noun: 'deployment',
    code: 'DEPLOYMENT_NOT_FOUND',
    beginning: (idPrefix, count) => find({ idPrefix }, count),
    named: async (name) => (await find({ name: { equals: name } }, 1))[0],
  })
}

export const SCHEDULE_ARGUMENT = 'id, its beginning, or name of a schedule; a name means the newest one'

export async function findSchedule(client: Client, text: string): Promise<string> {
  const candidate = ({ scheduleId, name }: { scheduleId: string; name: string }) => ({ id: scheduleId, name })
  return findId(text, {
    noun: 'schedule',
    code: 'SCHEDULE_NOT_FOUND',
    beginning: async (prefix) => beginningWith(prefix, (await takeAll(client.schedules())).map(candidate)),
    async named(name) {
      const { items } = await take(client.schedules({ filter: { name: { equals: name } } }), 1)
      return items.map(candidate)[0]
    },
  })
}

export function findWebhook(client: Client, text: string): Promise<string> {
  return findId(text, {
    noun: 'webhook',
    code: 'WEBHOOK_NOT_FOUND',
    async beginning(idPrefix, count) {
      const { items } = await take(client.webhooks({ idPrefix }), count)
      return items.map(({ webhookId, url }) => ({ id: webhookId, name: url }))
    },
  })
}

/** Finds a delivery, of this webhook or of any. */
export function findDelivery(client: Client, text: string, webhook?: string): Promise<string> {
  return findId(text, {
    noun: 'delivery',
    code: 'WEBHOOK_DELIVERY_NOT_FOUND',
    async beginning(idPrefix, count) {
      const found: Candidate[] = []
      const ids = webhook ? [webhook] : (await takeAll(client.webhooks())).map(({ webhookId }) => webhookId)
      for (const webhookId of ids) {
        const { items } = await take(client.webhookDeliveries(webhookId, { idPrefix }), count)
        found.push(...items.map(({ deliveryId, eventType }) => ({ id: deliveryId, name: eventType })))
      }
      return found
    },
  })
}

export function findBulkAction(client: Client, text: string): Promise<string> {
  return findId(text, {
    noun: 'bulk action',
    code: 'RESUBMISSION_NOT_FOUND',
    async beginning(idPrefix, count) {
      const { items } = await take(client.bulkActions({ filter: { idPrefix } }), count)
      return items.map(({ bulkActionId, clientKey }) => ({ id: bulkActionId, name: clientKey }))
    },
  })
}

/** Finds a token. A name means a token that is not revoked. */
export function findToken(client: Client, text: string): Promise<string> {
  const candidate = ({ tokenId, name }: { tokenId: string; name: string }) => ({ id: tokenId, name })
  return findId(text, {
    noun: 'token',
    code: 'TOKEN_NOT_FOUND',
    async beginning(idPrefix, count) {
      const { items } = await take(client.tokens({ idPrefix }), count)
      return items.map(candidate)
    },
    async named(wanted) {
      const valid = (await takeAll(client.tokens())).filter(({ revokedAt }) => !revokedAt)
      return onlyNamed(wanted, valid.map(candidate))
    },
  })
}
