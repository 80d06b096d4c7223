import { v7 as uuidv7 } from 'uuid'
import { type ApiError, errorOfFailure, isFailure, NotFoundError } from './errors.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import {
  CancelRetryDocument,
  CreateSessionDocument,
  CreateSessionsDocument,
  FailureCountsDocument,
  type FailureCountsQueryVariables,
  QueueDocument,
  type QueueQuery,
  RetryNowDocument,
  type SessionDetailFragment,
  SessionStatisticsDocument,
  type SessionStatisticsQueryVariables,
  SessionDocument,
  SessionHistoryDocument,
  SessionsDocument,
  type SessionSummaryFragment,
  TerminateSessionDocument,
  UpdateRetryDocument,
} from './operations.generated.ts'
import type {
  CreateSessionInput,
  RetryPolicyInput,
  UpdateRetryInput,
  SessionFilter,
  SessionOrder,
  TerminateSessionInput,
} from './schema-types.generated.ts'
import { pause } from './transport/retry-schedule.ts'
import { allPages, type Page, pageOf, type PageOptions, payloadOf } from './answers.ts'

export interface Created {
  session: SessionSummaryFragment
  /** False if a session with this `creationId` already existed. */
  created: boolean
}

export type QueuedSession = QueueQuery['queue']['edges'][number]['node']

export interface SessionsQuery {
  filter?: SessionFilter
  orderBy?: SessionOrder[]
}

/** An archive of files for sessions, which refer to it by `codeSha256`. */
export interface CodeArchive {
  sha256: string
  bytes: number
  /** Yields its bytes, from the beginning; called once more each time the archive is sent again. */
  read(): AsyncIterable<Uint8Array>
}

export interface UploadOptions extends CallOptions {
  /** Name of the project; if missing, the only project of the token, or `default`. */
  project?: string | undefined
}

export interface Uploaded {
  sha256: string
  bytes: number
  files: number
  /** False if the project had it already, so that nothing was sent. */
  sent: boolean
}

/** Options of a change that may be sent several times. */
export interface ChangeOptions extends CallOptions {
  /** The reason, for the audit log. */
  reason?: string | undefined
  /** Idempotency key, unique in the project; generated if missing. */
  clientKey?: string | undefined
}

/** The input of such a change, with its key. */
function change(sessionId: string, { reason, clientKey, ...call }: ChangeOptions) {
  return { input: { sessionId, reason, clientKey: clientKey ?? uuidv7() }, call: { ...call, idempotent: true } }
}

/** Bytes of all parts but the last. */
const PART_BYTES = 8 * 1024 ** 2
/** Pause between questions whether the hash of an archive has been checked. */
const CHECK_PAUSE_SECONDS = 0.5

interface UploadState {
  received: number
  complete: boolean
}

async function uploadParts(
  connection: Connection,
  { sha256, bytes, read }: CodeArchive,
  { project, ...call }: UploadOptions,
): Promise<void> {
  const pathOf = (query: Record<string, string>) => {
    const all = { ...query, ...(project !== undefined && { project }) }
    return `v2/code/${encodeURIComponent(sha256)}/parts?${String(new URLSearchParams(all))}`
  }
  const asked = { name: 'getUpload', path: pathOf({}), method: 'GET', headers: {}, body: null } as const
  let state = await connection.rest<UploadState>(asked, call)
  while (!state.complete) {
    const begin = state.received
    for await (const { offset, part } of partsOf(read(), begin, bytes)) {
      const body = async function* () {
        yield part
      }
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(part.length) }
      const path = pathOf({ bytes: String(bytes), offset: String(offset) })
      state = await connection.rest<UploadState>({ name: 'uploadCodePart', path, method: 'PUT', headers, body }, call)
      if (state.complete || state.received !== offset + part.length) break
    }
    if (!state.complete && begin === bytes) await pause(CHECK_PAUSE_SECONDS, call.signal)
  }
}

/** Cuts an archive into parts, from an offset on. At its end there is one empty part. */
async function* partsOf(chunks: AsyncIterable<Uint8Array>, from: number, bytes: number) {
  let offset = from
  let part = new Uint8Array(Math.min(PART_BYTES, bytes - from))
  let [at, filled] = [0, 0]
  for await (const chunk of chunks) {
    let rest = chunk.subarray(Math.min(chunk.length, Math.max(0, from - at)))
    at += chunk.length
    while (rest.length > 0 && part.length > 0) {
      const taken = rest.subarray(0, part.length - filled)
      part.set(taken, filled)
      filled += taken.length
      rest = rest.subarray(taken.length)
      if (filled < part.length) break
      yield { offset, part }
      offset += filled
      part = new Uint8Array(Math.min(PART_BYTES, bytes - offset))
      filled = 0
    }
  }
  if (from >= bytes || bytes === 0) yield { offset: bytes, part: new Uint8Array() }
}

type TerminateOptions = Omit<TerminateSessionInput, 'sessionId'> & CallOptions

export function sessionOperations(connection: Connection) {
  const { request } = connection
  return {
    /**
     * Creates a session exactly once: a missing `creationId` is generated, so that the request can safely be repeated.
     * @throws ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError
     */
    async createSession(input: CreateSessionInput, options?: CallOptions): Promise<Created> {
      const data = await request(CreateSessionDocument, { input: keyed(input) }, { ...options, idempotent: true })
      return payloadOf(data.createSession)
    },

    /**
     * Uploads a tar archive (`tar --format=posix`, not compressed) for sessions of a project, unless the project has it
     * already. The archive travels in parts of 8 MiB, so an upload that breaks off continues at any server.
     * @throws ValidationError, NotFoundError (no such project), QuotaExceededError, ForbiddenError, RequestError
     */
    async uploadCode(
      { sha256, bytes, read }: CodeArchive,
      { project, ...call }: UploadOptions = {},
    ): Promise<Uploaded> {
      const query = project === undefined ? '' : `?project=${encodeURIComponent(project)}`
      const path = `v2/code/${encodeURIComponent(sha256)}${query}`
      try {
        const asked = { name: 'getCode', path, method: 'GET', headers: {}, body: null } as const
        return { ...(await connection.rest<Omit<Uploaded, 'sent'>>(asked, call)), sent: false }
      } catch (error) {
        if (!(error instanceof NotFoundError) || error.code !== 'CODE_NOT_FOUND') throw error
      }
      try {
        await uploadParts(connection, { sha256, bytes, read }, { project, ...call })
      } catch (error) {
        if (!(error instanceof NotFoundError) || error.code !== 'NO_SUCH_PATH') throw error
        // A server of the previous version takes the whole archive in one request.
        const headers = { 'content-type': 'application/x-tar', 'content-length': String(bytes) }
        const sent = { name: 'uploadCode', path, method: 'PUT', headers, body: read } as const
        return { ...(await connection.rest<Omit<Uploaded, 'sent'>>(sent, call)), sent: true }
      }
      const recorded = { name: 'recordCode', path, method: 'POST', headers: {}, body: null } as const
      return { ...(await connection.rest<Omit<Uploaded, 'sent'>>(recorded, call)), sent: true }
    },

    /**
     * Creates up to 1000 sessions, each exactly once and independently; returns their results in the order of the
     * input.
     */
    async createSessions(
      inputs: readonly CreateSessionInput[],
      options?: CallOptions,
    ): Promise<(Created | ApiError)[]> {
      const input = { sessions: inputs.map(keyed) }
      const data = await request(CreateSessionsDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.createSessions).results.map((member) =>
        isFailure(member) ? errorOfFailure(member) : (member as Created),
      )
    },

    /** Returns everything about a session, with its chain, policy, decision and kernels. @throws NotFoundError */
    async session(sessionId: string, options?: CallOptions): Promise<SessionDetailFragment> {
      const { session } = await request(SessionDocument, { id: sessionId }, options)
      return session ?? gone(sessionId)
    },

    /** Lists all sessions, newest first unless ordered otherwise. Pages are read as they are needed. */
    sessions({ filter, orderBy }: SessionsQuery = {}, options?: CallOptions) {
      return allPages(async (page) => (await request(SessionsDocument, { filter, orderBy, ...page }, options)).sessions)
    },

    async sessionPage(
      query: SessionsQuery & PageOptions & { withTotal?: boolean } = {},
      options?: CallOptions,
    ): Promise<Page<SessionSummaryFragment>> {
      return pageOf((await request(SessionsDocument, query, options)).sessions)
    },

    /** Lists what waits in line in a resource group, in the order of turns. */
    queue(resourceGroup = 'default', options?: CallOptions): AsyncGenerator<QueuedSession> {
      return allPages(async (page) => (await request(QueueDocument, { resourceGroup, ...page }, options)).queue)
    },

    /** Lists the scheduler's actions on a session, oldest first. @throws NotFoundError */
    sessionHistory(sessionId: string, options?: CallOptions) {
      return allPages(async (page) => {
        const { session } = await request(SessionHistoryDocument, { id: sessionId, ...page }, options)
        return (session ?? gone(sessionId)).schedulingHistory
      })
    },

    /**
     * Terminates a session. If the session has failed and waits for its retry, cancels the retry. Done once, even if the
     * request is sent several times: a missing `clientKey` is generated.
     * @throws NotFoundError, InvalidStateError, ForbiddenError
     */
    async terminateSession(sessionId: string, options: TerminateOptions = {}): Promise<SessionSummaryFragment> {
      const { force, reason, clientKey, ...call } = options
      const input = { sessionId, force, reason, clientKey: clientKey ?? uuidv7() }
      const data = await request(TerminateSessionDocument, { input }, { ...call, idempotent: true })
      return payloadOf(data.terminateSession).session
    },

    /**
     * Cancels the scheduled or held retry of a chain, which any of its sessions names, once as above; returns the failed
     * session.
     * @throws NotFoundError, InvalidStateError, ForbiddenError
     */
    async cancelRetry(sessionId: string, options: ChangeOptions = {}): Promise<SessionSummaryFragment> {
      const { input, call } = change(sessionId, options)
      return payloadOf((await request(CancelRetryDocument, { input }, call)).cancelRetry).session
    },

    /**
     * Makes the scheduled or held retry of a chain due now, once as above; any of its sessions names it. Returns the
     * failed session.
     * @throws NotFoundError, InvalidStateError, ForbiddenError
     */
    async retryNow(sessionId: string, options: ChangeOptions = {}): Promise<SessionSummaryFragment> {
      const { input, call } = change(sessionId, options)
      return payloadOf((await request(RetryNowDocument, { input }, call)).retryNow).session
    },

    /**
     * Changes the policy of a chain whose retry is scheduled or held, or the resources of that retry; the server decides
     * that retry again. Done once as above.
     * @throws ValidationError, NotFoundError, InvalidStateError, ForbiddenError
     */
    async updateRetry(
      sessionId: string,
      policy: RetryPolicyInput | undefined,
      { resourceSlots, gpus, ...options }: ChangeOptions & Pick<UpdateRetryInput, 'resourceSlots' | 'gpus'> = {},
    ): Promise<SessionSummaryFragment> {
      const { input, call } = change(sessionId, options)
      const data = await request(UpdateRetryDocument, { input: { ...input, policy, resourceSlots, gpus } }, call)
      return payloadOf(data.updateRetry).session
    },

    /** Returns counts and rates of sessions that ended within a span of time. @throws ValidationError */
    async sessionStatistics(query: SessionStatisticsQueryVariables = {}, options?: CallOptions) {
      return (await request(SessionStatisticsDocument, query, options)).sessionStatistics
    },

    /** Counts failed attempts within a span of time by one property, largest groups first. @throws ValidationError */
    async failureCounts(query: FailureCountsQueryVariables, options?: CallOptions) {
      return (await request(FailureCountsDocument, query, options)).failureCounts
    },
  }
}

function keyed(input: CreateSessionInput): CreateSessionInput {
  return { ...input, creationId: input.creationId ?? uuidv7() }
}

const OVER: readonly string[] = ['TERMINATED', 'ERROR', 'CANCELLED']

/** Whether an attempt has ended. */
export function isOver({ status }: { status: string }): boolean {
  return OVER.includes(status)
}

export function gone(sessionId: string): never {
  throw new NotFoundError('SESSION_NOT_FOUND', `There is no session ${sessionId}.`)
}
