import { expect, test } from 'vitest'
import { ApiError, errorOfFailure, errorOfFaults, InternalError } from '../../../src/client/api-errors.ts'
import { ERRORS, type ErrorCode } from '../../../src/domain/errors.ts'

/** Requests that are refused before they are read have no result. */
const CODES = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].type !== 'RequestError')

test.each(CODES)('%s in a result is of the class of its type', (code) => {
  const { type } = ERRORS[code]
  const error = errorOfFailure({ __typename: type, code, message: 'm' })
  expect(error).toBeInstanceOf(ApiError)
  expect({ name: error.name, code: error.code, message: error.message }).toEqual({ name: type, code, message: 'm' })
})

test.each([
  'VALIDATION_FAILED',
  'PROJECT_NOT_FOUND',
  'KERNEL_NOT_FOUND',
  'FORBIDDEN',
  'UNAUTHENTICATED',
  'QUOTA_EXCEEDED',
] as const)('%s among the errors of an answer is of the class that the table says', (code) => {
  const { type, retryable } = ERRORS[code]
  const error = errorOfFaults([{ message: 'm', extensions: { code } }])
  expect(error).toMatchObject({ name: type, code, retryable })
})

test('issues and request id are kept', () => {
  const issues = [{ path: 'name', message: 'is empty' }]
  expect(
    errorOfFailure({ __typename: 'ValidationError', code: 'VALIDATION_FAILED', message: 'm', issues }),
  ).toMatchObject({ issues })
  const fault = errorOfFaults([{ message: 'm', extensions: { code: 'INTERNAL', requestId: 'r1' } }])
  expect(fault).toBeInstanceOf(InternalError)
  expect(fault).toMatchObject({ requestId: 'r1', retryable: true })
})

test('what is not known is an ApiError with the server’s code', () => {
  expect(errorOfFailure({ __typename: 'NewError', code: 'NEW', message: 'm' })).toMatchObject({ code: 'NEW' })
  expect(errorOfFaults([{ message: 'm' }])).toMatchObject({ name: 'ApiError', code: 'GRAPHQL_ERROR' })
})
