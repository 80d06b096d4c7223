-- What deciding pays for insight.

-- One statement for all failures that are stored together.
DROP TRIGGER failures_note_figures ON "failures";
CREATE FUNCTION note_failure_figures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO figures_due (session_id) SELECT session_id FROM new_failures;
  RETURN NULL;
END $$;
CREATE TRIGGER failures_note_figures AFTER INSERT ON "failures"
  REFERENCING NEW TABLE AS new_failures FOR EACH STATEMENT EXECUTE FUNCTION note_failure_figures();
CREATE TRIGGER failures_note_changed_figures AFTER UPDATE ON "failures"
  REFERENCING NEW TABLE AS new_failures FOR EACH STATEMENT EXECUTE FUNCTION note_failure_figures();

-- A failure whose session is deleted before its group is found is taken, and then left out.
ALTER TABLE "failures_due" DROP CONSTRAINT "failures_due_session_id_fkey";
