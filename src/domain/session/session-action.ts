/** What a person can do with sessions, one by one or with many at once. */
export const SESSION_ACTIONS = ['RETRY_NOW', 'CANCEL_RETRY', 'TERMINATE', 'RESUBMIT'] as const
export type SessionAction = (typeof SESSION_ACTIONS)[number]
