import { RepriseError, type ErrorCode } from '../../domain/errors.ts'

/**
 * What a mutation has committed, or an event is about. Somebody may have deleted it before it is read.
 * @throws RepriseError with the code, if so
 */
export async function stillThere<Row>(reading: PromiseLike<Row | null>, code: ErrorCode): Promise<Row> {
  const row = await reading
  if (row === null) throw new RepriseError(code, 'It has been deleted meanwhile.')
  return row
}
