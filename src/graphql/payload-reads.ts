import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import { readApart, renewSnapshot } from '../services/consistent-reads.ts'
import { renew, type GraphQLContext } from './context.ts'

const NAME = 'payloadReads'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [NAME]: PayloadReads<Types>
    }
  }
}

/**
 * The payload of each mutation is read in one state of the database, from after its own writes: nothing is left of
 * what was loaded for a mutation before it in the same operation, and those are executed one after the other.
 */
class PayloadReads<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { parentType }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (parentType !== 'Mutation') return wrapped
    return async (root, args, context, info) => {
      // Or it would hold a connection while this mutation waits for one.
      renewSnapshot()
      const result: unknown = await readApart(() => wrapped(root, args, context, info))
      renewSnapshot()
      renew(context as GraphQLContext)
      return result
    }
  }
}

SchemaBuilder.registerPlugin(NAME, PayloadReads)

export default NAME
