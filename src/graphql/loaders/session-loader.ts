import { queryFromInfo } from '@pothos/plugin-prisma'
import DataLoader from 'dataloader'
import { BREAK, type FieldNode, type GraphQLResolveInfo, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import type { Prisma, Session } from '../../generated/prisma/client.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { ReadSessions, SessionRead } from '../../services/session/read-sessions.ts'

type SessionRequest = Pick<SessionRead, 'by' | 'select' | 'selectKey'> & { value: string }

export type SessionLoader = DataLoader<SessionRequest, Session[], string>

/**
 * Resolves all edges from other objects to sessions, with the same check as for nodes: a session of another tenant is
 * not found. Requests with the same key and selection are read with one statement (and one for each relation in the
 * selection), both for single sessions and for whole chains, and for any number of rows.
 */
export function createSessionLoader(read: ReadSessions, { projectId }: Viewer): SessionLoader {
  const groupOf = ({ by, selectKey }: SessionRequest) => `${by} ${selectKey}`

  async function readGroup(requests: SessionRequest[]): Promise<Map<string, Session[]>> {
    const { by, select, selectKey } = requests[0]!
    const rows = await read({ projectId, by, values: requests.map(({ value }) => value), select, selectKey })
    return Map.groupBy(rows, (row) => row[by]!)
  }

  return new DataLoader(
    async (requests) => {
      const groups = [...Map.groupBy(requests, groupOf)]
      const found = new Map(
        await Promise.all(groups.map(async ([group, members]) => [group, await readGroup(members)] as const)),
      )
      return requests.map((request) => found.get(groupOf(request))?.get(request.value) ?? [])
    },
    { cacheKeyFn: (request) => `${groupOf(request)} ${request.value}` },
  )
}

interface SessionSelect {
  select: Prisma.SessionSelect
  /** A key that is the same for equal selects. */
  selectKey: string
}

interface Selected {
  context: object
  info: GraphQLResolveInfo
  /** Path from the field of `info` to the sessions, if the field's own type is not a session. */
  path?: string[]
}

export type SelectSessions = (selected: Selected) => SessionSelect

/**
 * Computes which columns to select for a field that resolves to sessions. If they depend only on the document, they are
 * remembered as long as the document. A remembered selection records no Pothos plan in the context: the fields below
 * are then resolved from the row, see `LoadedColumns`.
 */
export function sessionSelects(): SelectSessions {
  const known = new WeakMap<FieldNode, Map<string, SessionSelect | null>>()
  return (selected) => {
    const { info, path = [] } = selected
    const [field, ...others] = info.fieldNodes as [FieldNode, ...FieldNode[]]
    // The set of fields that are merged into one depends on the operation, and a document may have several operations.
    if (others.length > 0) return plan(selected)
    const ofField = known.get(field) ?? new Map<string, SessionSelect | null>()
    known.set(field, ofField)
    const place = path.join('.')
    const remembered = ofField.get(place)
    if (remembered) return remembered
    const planned = plan(selected)
    if (remembered === undefined) ofField.set(place, isSameForAllRequests(info) ? planned : null)
    return planned
  }
}

function plan({ context, info, path }: Selected): SessionSelect {
  const query = queryFromInfo({ context, info, typeName: 'Session', ...(path && { path }) })
  const { select = {} } = query as { select?: Prisma.SessionSelect }
  return { select, selectKey: JSON.stringify(select) }
}

/** Whether no directive skips a field and no field below selects columns by its arguments. */
function isSameForAllRequests({ schema, parentType, fieldNodes, fragments }: GraphQLResolveInfo): boolean {
  let same = true
  const differs = () => {
    same = false
    return BREAK
  }
  for (const node of [...fieldNodes, ...Object.values(fragments)]) {
    const typeInfo = new TypeInfo(schema, parentType)
    const Field = () =>
      typeof typeInfo.getFieldDef()?.extensions['pothosPrismaSelect'] === 'function' ? differs() : undefined
    visit(node, visitWithTypeInfo(typeInfo, { Directive: differs, Field }))
  }
  return same
}
