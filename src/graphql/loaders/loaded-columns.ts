import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'

const NAME = 'loadedColumns'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [NAME]: LoadedColumns<Types>
    }
  }
}

/**
 * Resolves a field directly from the row, if the field's `select` is the same for all requests and the row has all its
 * columns. Otherwise the Prisma plugin looks up for each field which plan the row was loaded by: a fifth of the CPU
 * time of a query for one session. Must come before that plugin.
 */
class LoadedColumns<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind, extensions, resolve: own }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const isLoaded = loadedBy(extensions?.['pothosPrismaSelect'])
    if (kind !== 'PrismaObject' || !own || !isLoaded) return wrapped
    return (row, args, context, info) => (isLoaded(row as Row) ? own : wrapped)(row, args, context, info)
  }
}

type Row = Record<string, unknown>
/** The part of Prisma's type that this file uses. */
type Select = Record<string, true | { select?: unknown }>
type IsLoaded = (row: Row) => boolean

/**
 * Checks whether a row has what a field selects. Undefined unless only columns are selected, of the row itself and of
 * its relations.
 */
function loadedBy(select: unknown): IsLoaded | undefined {
  if (typeof select !== 'object' || select === null) return undefined
  const parts: IsLoaded[] = []
  for (const [name, part] of Object.entries(select as Select)) {
    const isPartLoaded = part === true ? isColumnLoaded(name) : relationLoadedBy(name, part)
    if (!isPartLoaded) return undefined
    parts.push(isPartLoaded)
  }
  return parts.length === 1 ? parts[0] : (row) => parts.every((isPartLoaded) => isPartLoaded(row))
}

function isColumnLoaded(name: string): IsLoaded {
  return (row) => row[name] !== undefined
}

function relationLoadedBy(name: string, { select, ...others }: { select?: unknown }): IsLoaded | undefined {
  const isLoaded = loadedBy(select)
  if (!isLoaded || Object.keys(others).length > 0) return undefined
  return ({ [name]: related }) => {
    if (Array.isArray(related)) return related.every((row) => isLoaded(row as Row))
    return related === null || (related !== undefined && isLoaded(related as Row))
  }
}

SchemaBuilder.registerPlugin(NAME, LoadedColumns)

export default NAME
