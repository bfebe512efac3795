//! Inserting a tagged checkpoint, and when the journal shows it.

use crate::caller::Caller;

#[test]
fn an_instant_tag_is_in_the_journal_at_once() {
    let caller = Caller::start("[[vpgs]]\ninstant = true");
    let vpg = caller.vpg();
    let task = caller.read(&format!("/v1/tasks/{}", caller.insert(&vpg, "before the change")));
    assert_eq!(
        (&task["Type"], &task["Status"]["State"]),
        (&"InsertTaggedCP".into(), &6.into())
    );

    let row = caller.find_tag(&vpg, "before the change").unwrap();
    let [inserted] = caller.sim.checkpoints().try_into().unwrap();
    assert_eq!(row["CheckpointIdentifier"], inserted.checkpoint_identifier);
    assert_eq!(
        (inserted.vpg_identifier, inserted.tag),
        (vpg, "before the change".to_owned())
    );
    assert!(inserted.visible_ms >= Some(inserted.inserted_ms));
}
