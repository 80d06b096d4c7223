import { RepriseError } from '../../domain/errors.ts'
import { CREATE_SESSIONS_MAX } from '../../domain/limits.ts'
import { currentSpan } from '../../observability/trace.ts'
import { type KnownSession, readByCreationId } from '../../store/sql/session/creation-scope.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { fillProjects } from '../access/tenants.ts'
import { type CreateSessionInput, parseCreateSession, type ParsedCreateSession } from './create-session-input.ts'
import { planFirstAttempt, readPlanScope } from './plan-attempt.ts'
import { mapInTurns } from '../next-turn.ts'
import type { ServiceContext } from '../service-context.ts'
import { argumentError, inputError } from '../input/parse-input.ts'
import { describeFull } from '../../domain/quota.ts'
import type { Database, Queryable } from '../../store/database.ts'
import { insertSessions } from '../../store/sql/session/insert-sessions.sql.ts'
import type { Actor } from '../../store/sql/access/audit.sql.ts'
import { lockPendingPlaces } from '../quota.ts'

export interface CreatedSession {
  sessionId: string
  /** False if the creation id was known: the result is the existing session, created with the same input. */
  created: boolean
}

/**
 * @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND, DEPENDENCY_NOT_FOUND,
 * CREATION_ID_REUSED, QUOTA_EXCEEDED, FORBIDDEN
 */
export async function createSession(context: ServiceContext, input: CreateSessionInput): Promise<CreatedSession> {
  const [result] = await createSessions(context, [input])
  if (result instanceof RepriseError) throw result
  return result!
}

/**
 * Creates sessions from independent inputs: an error in one does not affect the others. Results are in the order of the
 * inputs.
 * @throws RepriseError VALIDATION_FAILED for more than CREATE_SESSIONS_MAX, FORBIDDEN
 */
export async function createSessions(
  context: ServiceContext,
  inputs: readonly CreateSessionInput[],
): Promise<(CreatedSession | RepriseError)[]> {
  assertMayChange(context.viewer)
  if (inputs.length > CREATE_SESSIONS_MAX) {
    throw argumentError('sessions', `at most ${CREATE_SESSIONS_MAX} sessions in one call`)
  }
  const parsed = await mapInTurns(await fillProjects(context, inputs), parse)
  const values = accepted(parsed)
  const scope = await readPlanScope(context, values)
  const planned = await mapInTurns(parsed, (value) =>
    value instanceof RepriseError ? value : planFirstAttempt(value, scope, context),
  )
  const sessions = accepted(planned)
  const { inserted, refused } = await addSessions(context.db, sessions, {
    actor: actorOf(context.viewer),
    transact: context.db.transaction,
  })
  const known = await readByCreationId(
    context.db,
    sessions.filter(({ id }) => !inserted.has(id) && !refused.has(id)),
  )
  if (inserted.size > 0) announce(context, [...inserted])
  return planned.map((session) => {
    if (session instanceof RepriseError) return session
    if (inserted.has(session.id)) return { sessionId: session.id, created: true }
    const refusal = refused.get(session.id)
    if (refusal) return refusal
    return repeated(session, known.get(`${session.projectId}/${session.creationId}`)!)
  })
}

/** The session that the creation id already names, if the inputs are equal. */
function repeated(session: NewSession, known: KnownSession): CreatedSession | RepriseError {
  const { creationId, creationDigest } = session
  if (known.creationDigest === null || known.creationDigest === creationDigest) {
    return { sessionId: known.id, created: false }
  }
  const message = `the creation id ${creationId} belongs to session ${known.id}, which was created with another input`
  return new RepriseError('CREATION_ID_REUSED', message, [], { type: 'Session', id: known.id })
}

/** The id of a first attempt is also its chain's. */
function announce({ wake, log }: ServiceContext, sessionIds: readonly string[]): void {
  wake.wake('schedule-sessions', 'events')
  currentSpan()?.note({ 'reprise.session.ids': sessionIds })
  if (sessionIds.length > 1) return log.debug({ sessionIds }, `created ${sessionIds.length} sessions`)
  log.debug({ sessionId: sessionIds[0], chainId: sessionIds[0] }, 'created a session')
}

function accepted<T>(values: readonly (T | RepriseError)[]): T[] {
  return values.filter((value): value is T => !(value instanceof RepriseError))
}

function parse(input: CreateSessionInput | RepriseError): ParsedCreateSession | RepriseError {
  if (input instanceof RepriseError) return input
  const parsed = parseCreateSession(input)
  if ('value' in parsed) return parsed.value
  return inputError(parsed.issues)
}

interface AddedSessions {
  inserted: Set<string>
  /** Errors by session id: a limit on pending sessions leaves no place for them. */
  refused: Map<string, RepriseError>
}

/**
 * Adds sessions that clients request, first attempts and resubmissions. If an owner's pending sessions are limited,
 * they are counted while the quota is locked, so two callers never take the same place. Sessions that are neither
 * inserted nor refused existed already. `transact` runs the counting: `db.transaction`, or the caller's own
 * transaction. A quota that is set at the same time counts the sessions being inserted at that moment as existing.
 */
export async function addSessions(
  db: Queryable,
  sessions: readonly NewSession[],
  options: { actor: Actor | null; transact: Database['transaction'] },
): Promise<AddedSessions> {
  const { actor, transact } = options
  const { inserted, limited } = await insertSessions(db, sessions, { actor, admitted: false })
  if (limited.size === 0) return { inserted, refused: new Map() }
  const counted = await transact((tx) =>
    addCounted(
      tx,
      sessions.filter(({ id }) => limited.has(id)),
      actor,
    ),
  )
  return { inserted: new Set([...inserted, ...counted.inserted]), refused: counted.refused }
}

async function addCounted(tx: Queryable, sessions: readonly NewSession[], actor: Actor | null): Promise<AddedSessions> {
  const places = await lockPendingPlaces(tx, sessions)
  const known = await readByCreationId(tx, sessions)
  // Existing sessions and repetitions take no place.
  const taken = new Set(known.keys())
  const refused = new Map<string, RepriseError>()
  const admitted = sessions.filter((session) => {
    const key = `${session.projectId}/${session.creationId}`
    if (taken.has(key)) return true
    const full = places.fullFor(session)
    if (full) refused.set(session.id, new RepriseError('QUOTA_EXCEEDED', describeFull(full)))
    else {
      places.take(session)
      taken.add(key)
    }
    return !full
  })
  const { inserted } = await insertSessions(tx, admitted, { actor, admitted: true })
  return { inserted, refused }
}
