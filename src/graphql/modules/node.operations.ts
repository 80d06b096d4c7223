import { brandWithType } from '@pothos/core'
import { decodeGlobalID, resolveNodes } from '@pothos/plugin-relay'
import { type GraphQLResolveInfo, isObjectType } from 'graphql'
import { NODES_MAX } from '../../domain/limits.ts'
import { argumentError } from '../../services/input/parse-input.ts'
import { builder } from '../builder.ts'
import type { GraphQLContext } from '../context.ts'
import { isUuid } from '../ids.ts'
import { SessionNode } from './session/session.types.ts'

interface NodeId {
  typename: string
  id: string
}

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: `Nodes by their global ids, in the order of the ids, at most ${NODES_MAX}; null for each one that does not exist or that you may not see.`,
    args: { ids: t.arg.idList({ required: true, description: 'The `id` of each node.' }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: ids.length }),
    resolve: async (_root, { ids }, context, info) => {
      if (ids.length > NODES_MAX)
        throw argumentError('ids', `\`ids\` has ${ids.length} items, but at most ${NODES_MAX} nodes are read at once.`)
      const wanted = ids.map((id) => nodeId(id, info))
      const [sessions, others] = await Promise.all([
        loadSessions(wanted, context, info),
        resolveNodes(
          builder,
          context,
          info,
          wanted.map((node) => (node === null || isSession(node) ? null : node)),
        ),
      ])
      return wanted.map((node, place) => (node && isSession(node) ? (sessions.get(node.id) ?? null) : others[place]))
    },
  }),
)

/** Reads the type and id in a global id; null if it is not the id of a node. The node need not exist. */
function nodeId(text: string, { schema }: GraphQLResolveInfo): NodeId | null {
  let node: NodeId
  try {
    node = decodeGlobalID(text)
  } catch {
    return null
  }
  const type = schema.getType(node.typename)
  if (!isObjectType(type) || !type.getInterfaces().some(({ name }) => name === 'Node')) return null
  return isUuid(node.id) ? { ...node, id: node.id.toLowerCase() } : node
}

function isSession({ typename }: NodeId): boolean {
  return typename === 'Session'
}

/** Loads the sessions among the wanted nodes, by id. The columns to select are computed once. */
async function loadSessions(
  wanted: readonly (NodeId | null)[],
  context: GraphQLContext,
  info: GraphQLResolveInfo,
): Promise<Map<string, object>> {
  const ids = new Set(wanted.flatMap((node) => (node && isSession(node) && isUuid(node.id) ? [node.id] : [])))
  if (ids.size === 0) return new Map()
  const { loaders, services } = context
  const selection = services.selectSessions({ context, info })
  const found = await loaders.sessions.loadMany([...ids].map((value) => ({ by: 'id' as const, value, ...selection })))
  const sessions = new Map<string, object>()
  for (const rows of found) {
    if (rows instanceof Error) throw rows
    const [row] = rows
    if (!row) continue
    brandWithType(row, SessionNode)
    sessions.set(row.id, row)
  }
  return sessions
}
