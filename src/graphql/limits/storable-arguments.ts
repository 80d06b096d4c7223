import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import { refuseUnstorable } from '../../services/input/parse-input.ts'

const NAME = 'storableArguments'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [NAME]: StorableArguments<Types>
    }
  }
}

/**
 * Refuses text that PostgreSQL cannot store, in the arguments of all queries and subscriptions, at any depth. Mutations
 * check their inputs themselves.
 */
class StorableArguments<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    return takesText(config) ? guarded(wrapped) : wrapped
  }

  override wrapSubscribe(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    return wrapped && takesText(config) ? guarded(wrapped) : wrapped
  }
}

function guarded<Context>(wrapped: GraphQLFieldResolver<unknown, Context, object>) {
  const guard: GraphQLFieldResolver<unknown, Context, object> = (parent, args, context, info) => {
    refuseUnstorable(args)
    return wrapped(parent, args, context, info)
  }
  return guard
}

/** Argument types whose values cannot contain such text. */
const WITHOUT_TEXT: readonly unknown[] = ['UUID', 'DateTime', 'Int', 'Float', 'Boolean']

function takesText<Types extends SchemaTypes>({ parentType, args }: PothosOutputFieldConfig<Types>): boolean {
  if (parentType === 'Mutation') return false
  return Object.values(args).some(({ type }) => {
    const item = type.kind === 'List' ? type.type : type
    return item.kind !== 'Enum' && !(item.kind === 'Scalar' && WITHOUT_TEXT.includes(nameOf(item.ref)))
  })
}

function nameOf(ref: unknown): unknown {
  return typeof ref === 'object' && ref !== null && 'name' in ref ? ref.name : ref
}

SchemaBuilder.registerPlugin(NAME, StorableArguments)

export default NAME
