import { builder } from '../../builder.ts'
import { serialCursor } from '../../paging/serial-page.ts'
import type { LogChunkRow } from '../../../services/agent/read-kernel-logs.ts'

export const LogStreamEnum = builder.enumType('LogStream', {
  description: 'Output stream of a process.',
  values: {
    STDOUT: { description: 'Its standard output.' },
    STDERR: { description: 'Its standard error.' },
  } as const,
})

export const LogChunk = builder.objectRef<LogChunkRow>('LogChunk').implement({
  description: "A chunk of a kernel's output, in order of arrival.",
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor, for `after`.', resolve: ({ id }) => serialCursor(id) }),
    stream: t.expose('stream', { type: LogStreamEnum, description: 'The stream that it was written to.' }),
    text: t.exposeString('text', { description: 'The text; it need not end with a line break.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When the agent read it.' }),
  }),
})

export const LogConnection = builder.connectionObject(
  { type: LogChunk, name: 'LogConnection', description: "A page of a kernel's output." },
  { name: 'LogEdge', description: 'One chunk and its place.' },
)
