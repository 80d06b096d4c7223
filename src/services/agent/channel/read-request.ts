import { z } from 'zod'
import type { ChannelMessage } from '../../../domain/agent/channel-port.ts'
import { parseControl, type ExecRequest } from '../../../domain/agent/channel-protocol.ts'
import { CHANNEL_COMMAND_BYTES_MAX, CHANNEL_COMMAND_WORDS_MAX, TERMINAL_SIDE_MAX } from '../../../domain/limits.ts'
import { execBytes } from '../../../domain/session/exec-bytes.ts'
import { parseInput } from '../../input/parse-input.ts'

const side = z.int().min(1).max(TERMINAL_SIDE_MAX)
const word = z.string().refine((text) => !text.includes('\0'), 'must not contain NUL')

const schema = z.object({
  type: z.literal('open'),
  command: z
    .array(word)
    .min(1)
    .max(CHANNEL_COMMAND_WORDS_MAX)
    .refine(
      (words) => execBytes(words) <= CHANNEL_COMMAND_BYTES_MAX,
      `must take at most ${CHANNEL_COMMAND_BYTES_MAX} bytes`,
    )
    .refine(([program]) => program !== '', 'must begin with a program'),
  tty: z.boolean().default(false),
  term: z
    .string()
    .regex(/^[\w.+-]{1,64}$/, 'must be the name of a kind of terminal')
    .default('xterm'),
  columns: side.default(80),
  rows: side.default(24),
})

/** What a client says first about a command. @throws RepriseError VALIDATION_FAILED */
export function readExecRequest(message: ChannelMessage): ExecRequest {
  const { type: _, ...request } = parseInput(schema, typeof message === 'string' ? parseControl(message) : null)
  return { kind: 'exec', ...request }
}
