import type pg from 'pg'

export interface Column {
  name: string
  /** The id of its type. */
  oid: number
  /** The table's column that it shows unchanged; null if it is computed. */
  table: { oid: number; column: number } | null
}

interface Described {
  fields: { name: string; dataTypeID: number; tableID: number; columnID: number }[]
}

interface Wire {
  parse(statement: { name: string; text: string; types: number[] }): void
  describe(what: { type: 'S'; name: string }): void
  sync(): void
}

/** Has PostgreSQL parse and analyse a statement, as the driver does before it runs it, and describe its columns. */
export function describeStatement(client: pg.Client, text: string): Promise<Column[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Column[]>()
  let columns: Column[] = []
  client.query({
    submit(connection: unknown) {
      const wire = connection as Wire
      wire.parse({ name: '', text, types: [] })
      wire.describe({ type: 'S', name: '' })
      wire.sync()
    },
    handleRowDescription({ fields }: Described) {
      columns = fields.map(({ name, dataTypeID: oid, tableID, columnID }) => ({
        name,
        oid,
        table: tableID === 0 ? null : { oid: tableID, column: columnID },
      }))
    },
    // After this the client asks nothing more of it.
    handleError: reject,
    handleReadyForQuery: () => resolve(columns),
  } as unknown as pg.Submittable)
  return promise
}
