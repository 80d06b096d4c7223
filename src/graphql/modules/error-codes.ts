import type { ErrorCode } from '../../domain/errors.ts'
import { builder } from '../builder.ts'

/** Descriptions of all error codes. docs/errors.md has the same; a test compares the two. */
export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description:
    'Error codes, for programs. Errors that are not part of the data have the same codes in `extensions.code`; there, INTERNAL means a fault of the server.',
  values: {
    VALIDATION_FAILED: {
      description: 'The input is invalid; `issues` lists every problem with its path. Correct it and send it again.',
    },
    SESSION_NOT_FOUND: { description: 'No such session, or it is not yours.' },
    PROJECT_NOT_FOUND: { description: 'No such project, or it is not yours.' },
    DOMAIN_NOT_FOUND: { description: 'No such domain.' },
    USER_NOT_FOUND: { description: 'No such user, or it is not yours to see.' },
    RESOURCE_GROUP_NOT_FOUND: { description: 'No such resource group.' },
    KERNEL_NOT_FOUND: { description: 'No such kernel, or it is not yours.' },
    AGENT_NOT_FOUND: { description: 'No such agent.' },
    WEBHOOK_NOT_FOUND: { description: 'No such webhook, or it is not yours.' },
    WEBHOOK_DELIVERY_NOT_FOUND: { description: 'No such delivery, or it is not yours.' },
    DEPLOYMENT_NOT_FOUND: { description: 'No such deployment, or it is not yours.' },
    SCHEDULE_NOT_FOUND: { description: 'No such schedule, or it is not yours.' },
    OUTPUTS_NOT_FOUND: { description: 'The session has no outputs, or no such file in them that you may see.' },
    GROUP_NOT_FOUND: { description: 'No such group of sessions, or it is not yours.' },
    FAILURE_GROUP_NOT_FOUND: { description: 'No such group of failures, or it is not yours.' },
    ADVICE_NOT_FOUND: { description: 'No such advice, or it is not yours.' },
    GROUP_CLOSED: { description: 'The group takes no more members, or has ended. Create another one.' },
    OUTPUTS_IN_PLACE: {
      description: 'The files stay where their program left them: the servers have only the list. `place` says where.',
    },
    CODE_NOT_FOUND: { description: 'The project has no uploaded code with this SHA-256.' },
    DEPENDENCY_NOT_FOUND: { description: '`dependsOn` names a session that does not exist, or is not yours.' },
    CREATION_ID_REUSED: {
      description: 'The creation id belongs to a session, schedule or deployment that was created with another input.',
    },
    NAME_TAKEN: { description: 'Another object of this kind already has the name.' },
    QUOTA_EXCEEDED: {
      description: 'A limit on how many may exist at once is reached. Try again when some have ended.',
    },
    TOO_MANY_REQUESTS: {
      description:
        'The token has too many requests in progress or per second, its WebSocket too many operations, or the address sent too many unknown tokens with the same beginning; or the server had reached its limit of open files at an upload. `Retry-After` has the time to wait.',
    },
    TOO_MANY_SUBSCRIPTIONS: {
      description: 'The connection or the token has reached its limit of open subscriptions. Close some first.',
    },
    FORBIDDEN: { description: "The token's role does not allow it." },
    DOCUMENT_NOT_TRUSTED: { description: 'The server executes trusted documents only, and this is not one of them.' },
    NO_SUCH_PATH: { description: 'There is nothing at this path.' },
    MALFORMED_REQUEST: { description: 'The body is not JSON in UTF-8.' },
    METHOD_NOT_ALLOWED: { description: 'The header `Allow` lists the methods that are allowed.' },
    REQUEST_TOO_LARGE: { description: 'The request has more bytes, values, keys or levels than the server accepts.' },
    UNSUPPORTED_MEDIA_TYPE: { description: 'The body must be `application/json`.' },
    UNAUTHENTICATED: { description: 'There is no token, or it is not valid.' },
    TOKEN_NOT_FOUND: { description: 'No such token, or it is not yours.' },
    CURSOR_EXPIRED: {
      description:
        'Events after the cursor have been deleted, or before a subscription had read them, and the message has the cursor of the oldest event kept; or the database was replaced by a copy from before the cursor.',
    },
    SESSION_ALREADY_FINISHED: {
      description: "Nothing of the session's chain is live: its newest attempt has ended, and no retry waits.",
    },
    DEPLOYMENT_DESTROYED: {
      description: 'The deployment is being destroyed or has been destroyed, and cannot be changed.',
    },
    ISOLATION_REQUIRED: {
      description: 'An agent runs kernels without isolation, so other people may not get access; the message names it.',
    },
    NO_PENDING_RETRY: { description: 'No retry is scheduled or held: it was dispatched, cancelled, or never planned.' },
    RESOURCE_GROUP_IN_USE: { description: 'The group has agents, deployments or unfinished sessions.' },
    GPU_NOT_FOUND: { description: 'The agent has no such GPU that is out of service, or for `takeGpu`, in service.' },
    AGENT_IN_USE: { description: 'The agent accepts work or still has kernels. Drain it and wait.' },
    RESUBMISSION_NOT_FOUND: { description: 'No such action on many sessions, or it is not yours.' },
    RESUBMISSION_FINISHED: { description: 'The action on many sessions has already ended.' },
    CLIENT_KEY_REUSED: { description: 'The client key belongs to an action on many sessions with different input.' },
    SESSION_NOT_BATCH: { description: 'Only batch sessions have attempts.' },
    SESSION_NOT_FINISHED: { description: 'The session has not ended: terminate it, or wait.' },
    SESSION_SUCCEEDED: { description: 'The session succeeded; `includeSucceeded` would run it again.' },
    DEPENDENCY_FAILED: {
      description:
        'The session should be resubmitted as a dependent, but also depends on a chain that has failed and is not resubmitted.',
    },
    SESSION_HAS_CHILD: {
      description:
        'The session has already been retried or resubmitted; the message and `childSession` name the child.',
    },
    SESSION_MAY_BE_ALIVE: {
      description:
        'The session may still be running on a silent agent; the message has the time until it is certainly gone.',
    },
    SESSION_NAMED_TWICE: { description: 'The session occurs earlier in the list.' },
    CHAIN_UNREADABLE: { description: 'The stored data of its chain is damaged.' },
    WEBHOOK_DISABLED: { description: 'The webhook is disabled. Enable it first.' },
    SESSION_NOT_RUNNING: { description: 'Only a running session can be entered; the message has its status.' },
    CHANNEL_NOT_OPENED: {
      description:
        'The agent did not connect to the server that waits for it, or could not start the command; the message tells which.',
    },
    CHANNEL_LOST: { description: 'The connection to the agent broke, or was silent for too long.' },
    CHANNEL_UNSUPPORTED: { description: "The session's agent cannot do this; the message has the reason." },
    PORT_NOT_SERVED: { description: 'No program of the kernel listens on the port.' },
    TOO_MANY_CHANNELS: {
      description: 'The session or the server has reached its limit of open channels. Close some first.',
    },
    AGENT_SUPERSEDED: { description: 'Another process has registered as this agent. This one stops.' },
    AGENT_UNKNOWN: { description: 'The server does not know this agent, which then registers again.' },
    REQUEST_TIMEOUT: { description: 'The body arrived too slowly, or the query took the database longer than 5 s.' },
    SERVER_STARTING: { description: 'The server is listening but still migrating or starting. Nothing was done.' },
    SERVER_STOPPING: { description: 'The server is shutting down. Try another one, or try again later.' },
    SERVER_DISK_FULL: {
      description:
        "The server or its database cannot write, because a disk is full; the server's log names it. Try again once there is space. If the database itself stopped for lack of space, the request may have been carried out, as after `DATABASE_UNAVAILABLE`.",
    },
    STORAGE_UNAVAILABLE: {
      description:
        'The bucket of `REPRISE_BLOB_URL` does not respond. Nothing is lost: try again, an upload continues where it was.',
    },
    DATABASE_UNAVAILABLE: {
      description:
        'The database is unreachable. If the response was cut off, the request may have been carried out: repeat it with the same key.',
    },
  } as const satisfies Record<ErrorCode, { description: string }>,
})
