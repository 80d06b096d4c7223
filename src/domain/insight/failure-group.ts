/** The states of a group of failures. RESOLVED becomes OPEN again by a failure after that: it has regressed. */
export const FAILURE_GROUP_STATES = ['OPEN', 'KNOWN', 'MUTED', 'RESOLVED'] as const
export type FailureGroupState = (typeof FAILURE_GROUP_STATES)[number]
