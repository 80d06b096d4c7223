import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import { RepriseError, type ErrorCode } from '../domain/errors.ts'
import type { GraphQLContext } from './context.ts'

const NAME = 'auditedRefusals'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [NAME]: AuditedRefusals<Types>
    }
  }
}

/** Writes down which mutations were refused, whether the error is the result or thrown. */
class AuditedRefusals<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { parentType, name }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (parentType !== 'Mutation') return wrapped
    return async (root, args, context, info) => {
      const { services, viewer } = context as GraphQLContext
      const note = (code: ErrorCode, message: string) =>
        services.refusals.note(viewer, { operation: name, code, message })
      try {
        const result: unknown = await wrapped(root, args, context, info)
        if (isError(result)) note(result.code, result.message)
        return result
      } catch (error) {
        if (error instanceof RepriseError) note(error.code, error.message)
        throw error
      }
    }
  }
}

function isError(result: unknown): result is { code: ErrorCode; message: string } {
  return typeof result === 'object' && result !== null && 'code' in result && 'message' in result
}

SchemaBuilder.registerPlugin(NAME, AuditedRefusals)

export default NAME
