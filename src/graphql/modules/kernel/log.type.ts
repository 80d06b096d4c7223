import { builder } from '../../builder.ts'
import { serialCursor } from '../../paging/serial-page.ts'
import type { LogChunkRow } from '../../../services/read-kernel-logs.ts'

export const LogStreamEnum = builder.enumType('LogStream', {
  description: 'Where a process wrote.',
  values: {
    STDOUT: { description: 'Its standard output.' },
    STDERR: { description: 'Its standard error.' },
  } as const,
})

export const LogChunk = builder.objectRef<LogChunkRow>('LogChunk').implement({
  description: 'A piece of what a kernel wrote, in the order in which it arrived.',
  fields: (t) => ({
    cursor: t.string({ description: 'Its place, for `after`.', resolve: ({ id }) => serialCursor(id) }),
    stream: t.expose('stream', { type: LogStreamEnum, description: 'Where it was written.' }),
    text: t.exposeString('text', { description: 'What was written; need not end with a line.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When the agent read it.' }),
  }),
})

export const LogConnection = builder.connectionObject(
  { type: LogChunk, name: 'LogConnection', description: 'A page of what a kernel wrote.' },
  { name: 'LogEdge', description: 'One piece and its place.' },
)
