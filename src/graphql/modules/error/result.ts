import { RepriseError } from '../../../domain/errors.ts'
import { errorShape, type ErrorShape } from './error.type.ts'

/** Runs a service and returns its payload or its typed error, as a member of the result union. */
export async function asResult<Payload>(run: () => Promise<Payload>): Promise<Payload | ErrorShape> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof RepriseError) return errorShape(error)
    throw error
  }
}

/** For the unions' `resolveType`. */
export function typeOf({ __typename }: { __typename: string }): string {
  return __typename
}
