import { builder } from '../../builder.ts'
import { logCursor } from '../../../services/agent/log-cursor.ts'
import type { LogChunkRow } from '../../../services/agent/read-kernel-logs.ts'

export const LogStreamEnum = builder.enumType('LogStream', {
  description: 'Output stream of a process.',
  values: {
    STDOUT: { description: 'Its standard output.' },
    STDERR: { description: 'Its standard error.' },
  } as const,
})

export const LogChunk = builder.objectRef<LogChunkRow>('LogChunk').implement({
  description: "A chunk of a kernel's output, in order of arrival. Adjacent ones of a stream are joined up to 64 KiB.",
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor, for `after` and `before`.', resolve: logCursor }),
    stream: t.expose('stream', { type: LogStreamEnum, description: 'The stream that it was written to.' }),
    offset: t.exposeFloat('offset', {
      description:
        'Byte at which it begins in its stream, as far as that is kept. Streams begin anew on each agent to which the kernel was given.',
    }),
    text: t.exposeString('text', { description: 'The text; it need not end with a line break.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When the agent read its beginning.' }),
  }),
})

export const LogConnection = builder.connectionObject(
  {
    type: LogChunk,
    name: 'LogConnection',
    description: "A page of a kernel's output. Its total counts pieces as they arrived, before they are joined.",
  },
  { name: 'LogEdge', description: 'One chunk and its place.' },
)
