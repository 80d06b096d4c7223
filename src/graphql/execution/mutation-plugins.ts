import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import { type ErrorCode, RepriseError } from '../../domain/errors.ts'
import { readApart, renewSnapshot } from '../../services/consistent-reads.ts'
import { type GraphQLContext, renew } from '../context.ts'

export const auditedRefusals = 'auditedRefusals'
export const payloadReads = 'payloadReads'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [auditedRefusals]: AuditedRefusals<Types>
      [payloadReads]: PayloadReads<Types>
    }
  }
}

/** Records refused mutations in the audit log, whether the error was returned or thrown. */
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

/**
 * Reads the payload of each mutation from one state of the database, taken after the mutation's writes. The mutations
 * of an operation run one after the other; rows loaded for an earlier mutation are dropped.
 */
class PayloadReads<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { parentType }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (parentType !== 'Mutation') return wrapped
    return async (root, args, context, info) => {
      // Ends the open snapshot, which would hold a connection while this mutation waits for one.
      renewSnapshot()
      const result: unknown = await readApart(() => wrapped(root, args, context, info))
      renewSnapshot()
      renew(context as GraphQLContext)
      return result
    }
  }
}

SchemaBuilder.registerPlugin(auditedRefusals, AuditedRefusals)
SchemaBuilder.registerPlugin(payloadReads, PayloadReads)
