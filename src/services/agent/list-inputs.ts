import type { InputFile, InputsAnswer, InputsRequest } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { OUTPUT_PAGE_FILES_MAX } from '../../domain/limits.ts'
import { areSettled, type InputRequest } from '../../domain/session/outputs.ts'
import { readInputSources } from '../../store/sql/session/read-outputs.sql.ts'
import { outputFiles } from '../session/read-outputs.ts'
import type { ServiceContext } from '../service-context.ts'
import { argumentError } from '../input/parse-input.ts'

/**
 * Lists, in pages, the files of other sessions that a kernel finds in its working directory: of the attempt of each
 * chain that succeeded. Outputs that are not complete are never passed on as if they were.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, OUTPUTS_NOT_FOUND
 */
export async function listInputs({ db }: Pick<ServiceContext, 'db'>, request: InputsRequest): Promise<InputsAnswer> {
  const found = await readInputSources(db, request)
  if (found === undefined)
    throw new RepriseError('KERNEL_NOT_FOUND', `kernel ${request.kernelId} is not assigned to this agent`)
  const { inputs, sources } = found
  for (const { chainId } of inputs) {
    const source = sources.find((each) => each.chainId === chainId)
    if (source === undefined)
      throw new RepriseError('OUTPUTS_NOT_FOUND', `session ${chainId}, whose outputs it needs, has none`)
    if (!areSettled(source.state))
      return { files: [], next: null, waiting: `waits for the outputs of session ${source.sessionId}` }
    if (source.state !== 'COMPLETE') {
      const why = source.reasons.length === 0 ? '' : `: ${source.reasons.join('; ')}`
      const message = `the outputs of session ${source.sessionId}, which it needs, are ${source.state}${why}`
      throw new RepriseError('OUTPUTS_NOT_FOUND', message)
    }
  }
  let [index, path] = positionOf(request.after)
  const files: InputFile[] = []
  for (; index < inputs.length; index++, path = '') {
    const input = inputs[index]!
    const { sessionId, place } = sources.find(({ chainId }) => chainId === input.chainId)!
    for await (const file of outputFiles({ db }, sessionId, { match: input.match, after: path })) {
      const source = place === null ? {} : { source: { ...place, path: file.path } }
      files.push({ ...file, path: placeOf(file.path, input), ...source })
      if (files.length === OUTPUT_PAGE_FILES_MAX) return { files, next: `${index}:${file.path}` }
    }
  }
  return { files, next: null }
}

function placeOf(path: string, { to }: InputRequest): string {
  return to === null ? path : `${to}/${path}`
}

function positionOf(after: string | null): [index: number, path: string] {
  if (after === null) return [0, '']
  const [, index, path] = /^(\d{1,4}):(.+)$/s.exec(after) ?? []
  if (index === undefined || path === undefined) throw argumentError('after', '`after` is not of an answer.')
  return [Number(index), path]
}
