import { GraphQLError } from 'graphql'
import { EXIT_CODES_WANTED, parseExitCodes } from '../../../domain/retry/policy/exit-codes.ts'
import { builder } from '../../builder.ts'

builder.scalarType('ExitCodes', {
  description: 'An exit code as a number, or a range of them with both ends as a text: `75`, `"64-78"`.',
  parseValue(value) {
    const codes = parseExitCodes(value)
    if (codes !== undefined) return codes
    throw new GraphQLError(`ExitCodes cannot represent ${JSON.stringify(value)}: it is ${EXIT_CODES_WANTED}`)
  },
  serialize: (value) => value as never,
})
