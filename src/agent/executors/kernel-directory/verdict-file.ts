import { join } from 'node:path'
import { VERDICT_BYTES_MAX } from '../../../domain/limits.ts'
import { faulty, parseProgramVerdict, type ProgramVerdict } from '../../../domain/session/program-verdict.ts'
import { openRegularFile } from '../../control-file.ts'

/** In the working directory, where the program may write whatever the isolation. */
export function verdictPath(kernelPath: string): string {
  return join(kernelPath, 'work', '.reprise-verdict.json')
}

/** Never rejects. @returns null if the program wrote none */
export async function readVerdict(kernelPath: string): Promise<ProgramVerdict | null> {
  try {
    await using file = await openRegularFile(verdictPath(kernelPath))
    const buffer = Buffer.alloc(VERDICT_BYTES_MAX + 1)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    if (bytesRead > VERDICT_BYTES_MAX) return faulty(`it is larger than ${VERDICT_BYTES_MAX} bytes`)
    return parseProgramVerdict(buffer.toString('utf8', 0, bytesRead))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT'
      ? null
      : faulty(code === undefined ? 'it is not a regular file' : `it cannot be read (${code})`)
  }
}
