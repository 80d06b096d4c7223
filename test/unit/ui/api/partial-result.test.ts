import { createRequest, type Operation } from '@urql/core'
import { describe, expect, test } from 'vitest'
import { errorOfFaults } from '../../../../src/client/errors.ts'
import { problemOf, resultOfError } from '../../../../src/ui/api/problem.ts'

describe('an answer with errors', () => {
  const operation = {
    ...createRequest('query { now auditLog { totalCount } deployments { totalCount } }', {}),
    kind: 'query',
    context: { url: '/graphql', requestPolicy: 'network-only' },
  } as Operation
  const faults = [
    {
      message: 'for administrators',
      path: ['auditLog'],
      extensions: { code: 'FORBIDDEN', requestId: 'request-1', issues: [] },
    },
  ]

  test('has the present part, and the missing parts with their reasons', () => {
    const data = { now: '2026-11-23T12:00:00Z', auditLog: null, deployments: { totalCount: 3 } }
    const result = resultOfError(operation, errorOfFaults(faults, data))
    expect(result.data).toEqual(data)
    expect(result.error?.graphQLErrors[0]?.path).toEqual(['auditLog'])
    expect(problemOf(result.error)).toEqual({
      message: 'for administrators',
      code: 'FORBIDDEN',
      requestId: 'request-1',
      issues: [],
    })
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['nothing that anybody asked for', { now: '2026-11-23T12:00:00Z', eventCursor: '1-2', node: null }],
  ])('is its error alone where there is %s', (_, data) => {
    const result = resultOfError(operation, errorOfFaults(faults, data))
    expect(result.data).toBeUndefined()
    expect(problemOf(result.error)).toMatchObject({ code: 'FORBIDDEN', requestId: 'request-1' })
  })

  test('an error on the way to the server is returned unchanged', () => {
    const result = resultOfError(operation, 'cut')
    expect(problemOf(result.error)).toMatchObject({ message: 'cut', code: null })
  })
})
