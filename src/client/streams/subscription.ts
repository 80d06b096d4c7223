import { describeDocument } from '../connection/describe-document.ts'
import { ClientConfigurationError } from '../errors.ts'

/** How a subscription goes on after its connection broke. */
export interface Subscription {
  name: string
  query: string
  /** Name of the variable that takes the cursor of the last event; null: it begins with the present state each time. */
  cursorVariable: string | null
  /**
   * `complete` from the server means that nothing more will follow, and without a cursor it begins with all that there
   * is. If not, the server is only stopping.
   */
  endsByItself: boolean
}

/** Those that end by themselves, and whether they have a cursor. */
export const FINITE: Readonly<Record<string, { cursor: boolean }>> = {
  kernelLogs: { cursor: true },
  resubmissionProgress: { cursor: false },
}

/** @throws ClientConfigurationError if it could not be resumed without missing anything */
export function describeSubscription(query: string): Subscription {
  const { kind, name, field, variables } = describeDocument(query)
  if (kind !== 'subscription') throw new ClientConfigurationError(`A ${kind} is no stream, but a request`)
  const finite = field !== null && Object.hasOwn(FINITE, field) ? FINITE[field] : undefined
  const cursorVariable = variables.get('after') ?? null
  if (cursorVariable === null && finite?.cursor !== false)
    throw new ClientConfigurationError(`${name} cannot be resumed: its field needs the argument \`after: $after\``)
  return { name, query, cursorVariable, endsByItself: finite !== undefined }
}
