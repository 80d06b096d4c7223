import { isTerminal } from './chains.ts'
import type { Call, Evidence, SessionRow } from './evidence.ts'
import type { Accuse } from './promises.ts'

/** What is good for a minute, and the blur of a busy machine. */
const LINK_SECONDS = 60
const LINK_BLUR_SECONDS = 10
const UNAUTHORIZED = 401
/** A server whose database is away does not know the link. */
const SERVER_FAULTS_FROM = 500

/** What clients were told, beside what is there: accepted sessions, terminations, cancelled retries, resubmissions. */
export function clientPromises(evidence: Evidence, accuse: Accuse): void {
  const known = new Map(evidence.sessions.map((session) => [session.id, session]))
  const done = evidence.calls.filter(({ outcome }) => outcome === 'done')
  expectCreated(done, known, accuse)
  for (const call of done) {
    if (call.call === 'link' || call.call === 'follow') continue
    const session = known.get(call.sessionId ?? '')
    if (session === undefined) {
      if (call.call !== 'create')
        accuse('asked', call.sessionId ?? call.client, `${call.call} was done to a session that is not there`)
    } else if (call.call === 'terminate') expectTerminated(call, session, evidence, accuse)
    else if (call.call === 'cancelRetry') expectCancelled(session, evidence, accuse)
    else if (call.call === 'resubmit') expectResubmitted(call, known, accuse)
  }
  expectKeysOnce(done, accuse)
  expectFinal(done, known, accuse)
  expectLinks(done, evidence, accuse)
}

function expectCreated(done: readonly Call[], known: ReadonlyMap<string, SessionRow>, accuse: Accuse): void {
  const ids = new Map<string, string>()
  for (const { call, creationId, sessionId } of done) {
    if (call !== 'create' || creationId === null || sessionId === null) continue
    const session = known.get(sessionId)
    if (session === undefined) accuse('lost', sessionId, 'was accepted, and is not there')
    else if (session.creationId !== creationId)
      accuse('lost', sessionId, `was accepted as ${creationId}, and is ${session.creationId}`)
    const before = ids.get(creationId) ?? sessionId
    if (before !== sessionId) accuse('one-child', creationId, `was accepted as ${before} and as ${sessionId}`)
    ids.set(creationId, before)
  }
}

/** What is live ends, and no retry comes after the answer, unless people resubmit the chain. */
function expectTerminated(call: Call, session: SessionRow, { sessions, clock }: Evidence, accuse: Accuse): void {
  const later = sessions.find(
    ({ chainId, origin, epoch, createdAt }) =>
      chainId === session.chainId &&
      origin === 'AUTO_RETRY' &&
      epoch === session.epoch &&
      createdAt > clock.databaseMost(call.answeredAt!.up),
  )
  if (later !== undefined) accuse('asked', session.id, `was terminated, and ${later.id} retried it afterwards`)
}

/** Any attempt names the waiting retry of its chain, which may be that of a later one. */
function expectCancelled(session: SessionRow, { sessions, decisions }: Evidence, accuse: Accuse): void {
  const cancelled = sessions.filter(
    ({ id, chainId, attempt }) =>
      chainId === session.chainId && attempt >= session.attempt && decisions.get(id)?.phase === 'CANCELLED',
  )
  if (cancelled.length === 0)
    accuse('asked', session.id, `its retry was cancelled, and is ${decisions.get(session.id)?.phase}`)
  for (const { id } of cancelled) {
    const child = sessions.find(({ parentId, origin }) => parentId === id && origin === 'AUTO_RETRY')
    if (child !== undefined) accuse('asked', id, `its retry was cancelled, and there is ${child.id}`)
  }
}

function expectResubmitted(call: Call, known: ReadonlyMap<string, SessionRow>, accuse: Accuse): void {
  for (const id of call.children) {
    const child = known.get(id)
    if (child === undefined) accuse('lost', id, 'was made by a resubmission, and is not there')
    else if (child.parentId !== call.sessionId || child.origin !== 'RESUBMISSION') {
      accuse('asked', id, `was made as a resubmission of ${call.sessionId}, and is not`)
    }
  }
}

/** A key that is sent again makes nothing new. */
function expectKeysOnce(done: readonly Call[], accuse: Accuse): void {
  const keyed = done.filter(({ call, clientKey }) => call === 'resubmit' && clientKey !== null)
  for (const [key, calls] of Map.groupBy(keyed, ({ clientKey }) => clientKey!)) {
    const answers = new Set(calls.map(({ children }) => children.join()))
    if (answers.size > 1) accuse('asked', key, `the same resubmission was answered in ${answers.size} ways`)
  }
}

/** A session that a client saw ended is never seen otherwise, neither by the same client nor in the table. */
function expectFinal(done: readonly Call[], known: ReadonlyMap<string, SessionRow>, accuse: Accuse): void {
  const ended = new Map<string, { at: number; status: string; result: string; exitCode: number | null }>()
  const reads = done.filter(({ call }) => call === 'read').toSorted((a, b) => a.askedAt.up - b.askedAt.up)
  for (const { attempts, answeredAt, askedAt } of reads) {
    for (const { sessionId, status, result, exitCode } of attempts) {
      const before = ended.get(sessionId)
      const same = before?.status === status && before.result === result && before.exitCode === exitCode
      if (before !== undefined && before.at < askedAt.up && !same) {
        accuse('terminal', sessionId, `was ${before.status}, and was ${status} when it was read again`)
      }
      if (isTerminal(status) && before === undefined)
        ended.set(sessionId, { at: answeredAt!.up, status, result, exitCode })
    }
  }
  for (const [sessionId, { status, result, exitCode }] of ended) {
    const row = known.get(sessionId)
    if (row === undefined) accuse('lost', sessionId, `was read as ${status}, and is not there`)
    else if (row.status !== status || row.result !== result || row.exitCode !== exitCode) {
      accuse(
        'terminal',
        sessionId,
        `was read as ${status} ${result} ${exitCode}, and is ${row.status} ${row.result} ${row.exitCode}`,
      )
    }
  }
}

/** A link that is older than a minute leads nowhere; one that is not, and was not used before, leads somewhere. */
function expectLinks(done: readonly Call[], { clock }: Evidence, accuse: Accuse): void {
  const links = new Map(
    done.filter(({ call }) => call === 'link').map((call) => [`${call.client} ${call.number}`, call]),
  )
  for (const { call, client, number, linkOf, httpStatus, askedAt, answeredAt } of done) {
    const made = links.get(`${client} ${linkOf}`)
    if (call !== 'follow' || made === undefined || httpStatus === null) continue
    const who = `${client} call ${number}`
    const [from, to] = [made.answeredAt!.up, askedAt.up]
    const leastAge = to - from + clock.aheadLeast(to) - clock.aheadMost(from)
    const mostAge =
      answeredAt!.up - made.askedAt.up + clock.aheadMost(answeredAt!.up) - clock.aheadLeast(made.askedAt.up)
    if (leastAge > LINK_SECONDS && httpStatus !== UNAUTHORIZED && httpStatus < SERVER_FAULTS_FROM) {
      accuse('asked', who, `a link that was ${Math.round(leastAge)} s old led to ${httpStatus}`)
    }
    if (mostAge < LINK_SECONDS - LINK_BLUR_SECONDS && httpStatus === UNAUTHORIZED) {
      accuse('asked', who, `a link that was at most ${Math.round(mostAge)} s old was refused`)
    }
  }
}
