/** The scopes for which retry defaults and switches are set. */
export const RETRY_SCOPES = ['CLUSTER', 'DOMAIN', 'PROJECT'] as const
export type RetryScope = (typeof RETRY_SCOPES)[number]
