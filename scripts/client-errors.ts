import { join } from 'node:path'
import { ERRORS } from '../src/domain/errors.ts'

export const CLIENT_ERRORS = join(import.meta.dirname, '../src/client/error-codes.generated.ts')

/** Generates the server's table of errors for the client, which imports no server code, as TypeScript. */
export function generateClientErrors(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { type, httpStatus, retryable }]) =>
      `  ${code}: { type: '${type}', httpStatus: ${httpStatus}, retryable: ${retryable} },`,
  )
  return [
    '/** The codes of the server, as `npm run generate` takes them from its table. */',
    'export const ERROR_CODES = {',
    ...rows,
    '} as const',
    '',
    'export type ErrorCode = keyof typeof ERROR_CODES',
    '',
  ].join('\n')
}
