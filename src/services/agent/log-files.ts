import { RepriseError } from '../../domain/errors.ts'
import { describeFailure } from '../../domain/retry/explain.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import { projectScope } from '../access/tenants.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { type LogTextIndex, type LogTextOf, measureLogText, readLogText } from './kernel-logs.ts'

/** Logs as files: their names, and the logs of all attempts of a chain as one text. */

type Context = Pick<ReadContext, 'db' | 'prisma' | 'viewer'>

interface NamedKernel {
  role: string
  index: number
}

interface NamedSession {
  name: string
  attempt: number
  clusterSize: number
}

/** The part of a session's name that a file's name has. Longer names and other characters trouble some systems. */
const NAME_CHARACTERS_MAX = 100

/** Returns `nightly-attempt-2.log`, with the kernel if there are several, and with the stream if it is only one. */
export async function logFileName({ prisma }: Context, { kernelId, stream }: LogTextOf): Promise<string> {
  const { session, ...kernel } = await prisma.kernel.findUniqueOrThrow({
    where: { id: kernelId },
    select: { role: true, index: true, session: { select: { name: true, attempt: true, clusterSize: true } } },
  })
  const of = session.clusterSize === 1 ? '' : `-${kernel.role}${kernel.index}`
  return `${fileName(session.name)}-attempt-${session.attempt}${of}${stream ? `.${stream.toLowerCase()}` : ''}.log`
}

function fileName(name: string): string {
  const plain = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+/, '')
  return [...plain].slice(0, NAME_CHARACTERS_MAX).join('') || 'session'
}

/** The logs of a chain as one text. */
interface ChainLog {
  /** `nightly-all-attempts.log` */
  file: string
  /** Read as the consumer takes it; each kernel's log follows a line that names the attempt and its end. */
  text: AsyncGenerator<Uint8Array, void, void>
}

/** @throws RepriseError SESSION_NOT_FOUND if there is no such chain that the viewer may see */
export async function readChainLog(context: Context, index: LogTextIndex, chainId: string): Promise<ChainLog> {
  const sessions = await context.prisma.session.findMany({
    where: { chainId, ...projectScope(context.viewer) },
    orderBy: { attempt: 'asc' },
    select: {
      name: true,
      attempt: true,
      clusterSize: true,
      status: true,
      result: true,
      exitCode: true,
      failureCause: true,
      kernels: { select: { id: true, role: true, index: true }, orderBy: [{ role: 'asc' }, { index: 'asc' }] },
    },
  })
  const [first] = sessions
  if (!first) throw new RepriseError('SESSION_NOT_FOUND', `There is no chain ${chainId}.`)
  return { file: `${fileName(first.name)}-all-attempts.log`, text: textOf(context, index, sessions) }
}

interface LoggedSession extends NamedSession {
  status: string
  result: string
  exitCode: number | null
  failureCause: FailureCause | null
  kernels: (NamedKernel & { id: string })[]
}

async function* textOf(
  context: Context,
  index: LogTextIndex,
  sessions: readonly LoggedSession[],
): AsyncGenerator<Uint8Array, void, void> {
  for (const session of sessions) {
    if (session.kernels.length === 0) yield Buffer.from(headline(session, null))
    for (const kernel of session.kernels) {
      yield Buffer.from(headline(session, kernel))
      const of = { kernelId: kernel.id, stream: null }
      const measured = await measureLogText(context, index, of)
      if (measured.bytes === 0) continue
      let endsLine = true
      for await (const bytes of readLogText(context, of, measured, { first: 0, last: measured.bytes - 1 })) {
        yield bytes
        if (bytes.length > 0) endsLine = bytes.at(-1) === LINE_BREAK
      }
      if (!endsLine) yield Buffer.from('\n')
    }
  }
}

const LINE_BREAK = 10

/** `──── nightly, attempt 2 of kernel sub1: exit code 3 ────` */
function headline(session: LoggedSession, kernel: NamedKernel | null): string {
  const { name, attempt, clusterSize } = session
  const of = kernel === null || clusterSize === 1 ? '' : `, kernel ${kernel.role}${kernel.index}`
  return `──── ${name}, attempt ${attempt}${of}: ${endOf(session)} ────\n`
}

function endOf({ status, result, exitCode, failureCause }: LoggedSession): string {
  if (result === 'SUCCESS') return 'succeeded'
  if (failureCause !== null) return describeFailure(failureCause, null, exitCode)
  return status.toLowerCase()
}
