/** A position in the outbox: transaction id, then row id, both decimal. */
export interface EventCursor {
  xid: bigint
  id: bigint
}

export function compareCursors(a: EventCursor, b: EventCursor): number {
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  return 0
}

/** Opaque to clients. */
export function encodeCursor(cursor: EventCursor): string {
  return btoa(`${cursor.xid}:${cursor.id}`).replaceAll('=', '')
}

/** Undefined if the text is not a cursor. */
export function decodeCursor(text: string): EventCursor | undefined {
  if (!/^[A-Za-z0-9+/]{1,80}$/.test(text)) return undefined
  const match = /^(\d{1,20}):(\d{1,19})$/.exec(safeAtob(text))
  if (!match) return undefined
  const cursor = { xid: BigInt(match[1]!), id: BigInt(match[2]!) }
  return cursor.xid <= XID_MAX && cursor.id <= ID_MAX ? cursor : undefined
}

const XID_MAX = 2n ** 64n - 1n
const ID_MAX = 2n ** 63n - 1n

function safeAtob(text: string): string {
  try {
    return atob(text)
  } catch {
    return ''
  }
}
