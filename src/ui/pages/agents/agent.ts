import type { UiAgentQuery } from './agents.generated.ts'

/** What the page of an agent reads of it. */
export type Agent = Extract<NonNullable<UiAgentQuery['node']>, { __typename: 'Agent' }>
